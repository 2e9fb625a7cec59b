// Package conformance tests the responses of a YARN cluster to ApplicationMasters. The tests
// run with the simulator of package yarntest and with real daemons, to compare them.
package conformance
