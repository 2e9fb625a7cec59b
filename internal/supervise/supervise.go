// Package supervise runs the driver function of a program. It detects a function that panics,
// creates no session, or does not return when its context ends.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// ReturnTimeout is how long a driver function may continue to run after its application has
// ended. The application's containers are released when the function has returned or this
// timeout has expired.
const ReturnTimeout = 10 * time.Second

// NoSessionError is the error of a driver function that has not created a session in time.
type NoSessionError struct{ Timeout time.Duration }

func (e *NoSessionError) Error() string {
	return fmt.Sprintf("the driver function did not create a session within %v (yarn.am.waitTime)", e.Timeout)
}

// NotReturnedError is the error of a function that has not returned within ReturnTimeout. The
// function continues to run until the process exits.
type NotReturnedError struct {
	Cause    error        // the reason why the function's context has ended
	Returned <-chan error // receives the function's error if the function returns later
}

// Unwrap returns Cause.
func (e *NotReturnedError) Unwrap() error { return e.Cause }

func (e *NotReturnedError) Error() string {
	return fmt.Sprintf("%v; the driver function did not return within %v after its context had ended", e.Cause, ReturnTimeout)
}

// Run calls function and waits until it returns. It returns the function's error, or an error
// with the panic and its stack trace.
//
// The context of function ends when the context ctx or the context application ends. It also
// ends if function has not called sessionCreated within sessionTimeout (0 means no timeout);
// Run then returns a *NoSessionError. If function does not return within ReturnTimeout after
// this timeout or the end of application, Run returns a *NotReturnedError. If only ctx ends,
// Run waits without a timeout.
func Run(ctx, application context.Context, sessionTimeout time.Duration, function func(ctx context.Context, sessionCreated func()) error) error {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	created := make(chan struct{}, 1)
	returned := make(chan error, 1)
	go call(returned, func() error {
		return function(running, func() {
			select {
			case created <- struct{}{}:
			default:
			}
		})
	})
	var late <-chan time.Time
	if sessionTimeout > 0 {
		timer := time.NewTimer(sessionTimeout)
		defer timer.Stop()
		late = timer.C
	}
	var cause error
	for cause == nil {
		select {
		case err := <-returned:
			return err
		case <-created:
			late = nil
		case <-late:
			cause = &NoSessionError{sessionTimeout}
		case <-application.Done():
			cause = context.Cause(application)
		}
	}
	cancel(cause)
	select {
	case err := <-returned:
		if late := (*NoSessionError)(nil); errors.As(cause, &late) {
			return cause
		}
		return err
	case <-time.After(ReturnTimeout):
		return &NotReturnedError{Cause: cause, Returned: returned}
	}
}

// call calls a driver function and sends the function's error to the given channel. If the
// function panics or calls runtime.Goexit, call sends an error that says so.
func call(returned chan<- error, function func() error) {
	err := errors.New("the driver function ended its goroutine (runtime.Goexit) instead of returning")
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
		returned <- err
	}()
	err = function()
}
