// Package conformance has tests of a YARN cluster's answers. They run with the simulator
// of package yarntest and with real daemons, to check that both behave alike.
package conformance
