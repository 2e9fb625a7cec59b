// Package leaktest fails a package's tests if they leak goroutines.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// timeout is how long goroutines have to end after the last test. On a busy machine
// they may wait for a processor.
const timeout = 20 * time.Second

// Main runs a package's tests and exits: it is the body of a TestMain. Tests that
// succeed and leak a goroutine fail.
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

// leaked waits until there are no goroutines besides the ignored ones, and returns
// an error that lists those that remain.
func leaked(wait time.Duration, ignore ...goleak.Option) error {
	deadline := time.Now().Add(wait)
	for {
		err := goleak.Find(ignore...) // retries for a while
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
