// Package interrupt stops a program by signals: the first one ends its context, so
// that it can clean up, and the second one ends the process.
package interrupt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// sameSignal is how long further signals count as the first one: timeout(1) and
// others signal a process and then its whole group.
const sameSignal = 300 * time.Millisecond

// Context returns a context that the first SIGINT or SIGTERM ends, with a cause that
// names the signal. A second one calls beforeExit and exits with code. stop restores
// the signals' default effect and waits for the goroutine that handles them.
func Context(code int, beforeExit func()) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	var listening sync.WaitGroup
	listening.Go(func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case received := <-signals:
				switch {
				case first.IsZero():
					first = time.Now()
					cancel(interrupted(received))
				case time.Since(first) > sameSignal:
					beforeExit()
					os.Exit(code)
				}
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		listening.Wait()
		cancel(nil)
	}
}

// errByHand is the cause of an interrupt from the keyboard.
var errByHand = errors.New("interrupted (Ctrl-C)")

// IsByHand reports whether a context's cause is an interrupt from the keyboard.
func IsByHand(cause error) bool { return errors.Is(cause, errByHand) }

func interrupted(received os.Signal) error {
	if received == os.Interrupt {
		return errByHand
	}
	return fmt.Errorf("interrupted (%v)", received)
}
