// Package leaktest finds goroutines that a package's tests have left.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines have to end that are about to when the last
// test has: on a busy machine they may have to wait for a processor.
const patience = 20 * time.Second

// Main runs a package's tests and exits, as a TestMain does. Tests that succeed
// and leave a goroutine that does not end have failed.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := left(patience); err != nil {
			fmt.Fprintln(os.Stderr, "the tests left goroutines:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// left waits until only the tests' own goroutines are there, and reports those
// that stay for longer than it waits.
func left(wait time.Duration, but ...goleak.Option) error {
	deadline := time.Now().Add(wait)
	for {
		err := goleak.Find(but...) // looks several times, with pauses
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
