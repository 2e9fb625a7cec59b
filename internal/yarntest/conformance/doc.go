// Package conformance has tests of how a YARN cluster answers ApplicationMasters.
// They run with the simulator of package yarntest and with real daemons, to check
// that both behave alike.
package conformance
