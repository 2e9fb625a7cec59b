// Package conformance holds tests of what a YARN cluster answers, to be run over
// the simulator of package yarntest and over real daemons alike: so the one is
// known to behave as the others do.
package conformance
