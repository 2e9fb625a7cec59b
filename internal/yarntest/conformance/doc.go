// Package conformance tests how a YARN cluster answers ApplicationMasters. The tests
// run with the simulator of package yarntest and with real daemons, to compare both.
package conformance
