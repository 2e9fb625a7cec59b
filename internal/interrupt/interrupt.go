// Package interrupt handles SIGINT and SIGTERM. The first signal ends a context, so that the
// program can clean up. A second signal, unless it follows within 300 ms, ends the process at once.
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

// duplicateSignalWindow is how long after the first signal other signals are ignored.
// timeout(1) and other programs send a signal to a process and then to its process group, so
// the process receives it twice.
const duplicateSignalWindow = 300 * time.Millisecond

// Context returns a context that ends at the first SIGINT or SIGTERM, with a cause that names
// the signal. At a second signal, more than 300 ms after the first, the process calls
// beforeExit and exits with the given code. stop restores the default handling and waits
// until the goroutine that handles signals has ended.
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
				case time.Since(first) > duplicateSignalWindow:
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

// errCtrlC is the cause of a context that SIGINT (Ctrl-C) has ended.
var errCtrlC = errors.New("interrupted (Ctrl-C)")

// IsCtrlC reports whether the context with this cause was ended by Ctrl-C.
func IsCtrlC(cause error) bool { return errors.Is(cause, errCtrlC) }

func interrupted(received os.Signal) error {
	if received == os.Interrupt {
		return errCtrlC
	}
	return fmt.Errorf("interrupted (%v)", received)
}
