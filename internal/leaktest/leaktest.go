// Package leaktest fails a package's tests if they leak goroutines.
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
// remain, Main lists these and exits with status 1.
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

// leaked waits until all goroutines but the ignored ones have ended. If some remain after the
// time wait, it returns an error that lists them.
func leaked(wait time.Duration, ignore ...goleak.Option) error {
	deadline := time.Now().Add(wait)
	for {
		err := goleak.Find(ignore...) // Find itself retries for a while
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
