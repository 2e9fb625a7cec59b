// Package leaktest fails the tests of a package if they leak goroutines.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// timeout is how long to wait for goroutines to end after the last test.
const timeout = 20 * time.Second

// Main runs a package's tests and exits; TestMain calls it. If the tests pass but goroutines
// still run, Main lists these goroutines and exits with status 1.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := leaked(timeout); err != nil {
			fmt.Fprintln(os.Stderr, "the tests left goroutines:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// leaked waits until all goroutines except the ignored ones have ended. If some still run when
// wait has passed, it returns an error that lists them.
func leaked(wait time.Duration, ignore ...goleak.Option) error {
	deadline := time.Now().Add(wait)
	for {
		err := goleak.Find(ignore...) // Find retries for some time
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
