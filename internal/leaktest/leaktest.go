// Package leaktest fails a package's tests if they leak goroutines.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// timeout is how long to wait for goroutines to end after the last test. On a
// busy machine they may have to wait for a processor.
const timeout = 20 * time.Second

// Main runs a package's tests and exits; a TestMain calls it. If the tests pass
// but goroutines remain, it prints them and exits with a failure.
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

// leaked waits until there are no goroutines except ignored ones. If some remain
// after wait, the error lists them.
func leaked(wait time.Duration, ignore ...goleak.Option) error {
	deadline := time.Now().Add(wait)
	for {
		err := goleak.Find(ignore...) // retries for a while
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
