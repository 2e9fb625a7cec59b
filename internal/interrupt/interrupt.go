// Package interrupt has a program that is told to end do so in order: the first
// signal ends its context, and a second one, should it not listen, the process.
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

// sameSignal is within what time a second signal is taken for the first one:
// timeout(1) and others signal a process and then its whole group.
const sameSignal = 300 * time.Millisecond

// Context gives a context that ends with the first SIGINT or SIGTERM; its cause
// names the signal. A second one ends the process at once, with the exit code,
// after leaving was called. stop gives the signals back and waits for the
// goroutine that listens to them.
func Context(code int, leaving func()) (ctx context.Context, stop func()) {
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
					leaving()
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

// errByHand is an interruption from the keyboard.
var errByHand = errors.New("interrupted (Ctrl-C)")

// IsByHand tells whether the cause of a context's end is an interruption from
// the keyboard, as opposed to one by another program.
func IsByHand(cause error) bool { return errors.Is(cause, errByHand) }

func interrupted(received os.Signal) error {
	if received == os.Interrupt {
		return errByHand
	}
	return fmt.Errorf("interrupted (%v)", received)
}
