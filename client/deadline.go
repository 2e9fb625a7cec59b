package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// errTimeout ends the following of an application that takes too long.
type errTimeout struct{ timeout time.Duration }

func (e *errTimeout) Error() string {
	return fmt.Sprintf("it took longer than %v (--timeout)", e.timeout)
}

// within ends a context when an application takes too long; 0 is no bound.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, &errTimeout{timeout})
}

// killReason is what the ResourceManager writes down of a kill: why, and which
// program did it.
func killReason(cause error) string {
	var late *errTimeout
	if errors.As(cause, &late) {
		return late.Error()
	}
	return cause.Error() + " of " + filepath.Base(os.Args[0])
}
