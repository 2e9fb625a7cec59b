// Package proptest sets the number of cases of property tests and chaos tests.
package proptest

import "flag"

// Checks makes each rapid.Check of the process run n cases instead of 100, unless the flag
// -rapid.checks is set. It is for packages whose cases take long. TestMain calls it before it
// runs tests.
func Checks(n string) {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "rapid.checks" })
	if !set {
		_ = flag.Set("rapid.checks", n) // cannot fail: n is a number, and package rapid has defined the flag
	}
}
