// Package supervise runs the driver function of a user's program, which may
// panic, never create a session, or ignore the end of its context.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Grace is how long a driver function may run after its application has ended.
// The application keeps its containers for that time.
const Grace = 10 * time.Second

// NoSession is the error if a driver function did not create a session in time.
type NoSession struct{ Timeout time.Duration }

func (e *NoSession) Error() string {
	return fmt.Sprintf("the driver function did not create a session within %v (yarn.am.waitTime)", e.Timeout)
}

// NotReturned is the error if a driver function did not return within Grace.
// Go cannot stop it: it runs until the process exits.
type NotReturned struct {
	Cause    error        // why the function's context ended
	Returned <-chan error // receives what the function returns, if it ever does
}

// Unwrap returns why the function's context ended.
func (e *NotReturned) Unwrap() error { return e.Cause }

func (e *NotReturned) Error() string {
	return fmt.Sprintf("%v; the driver function did not return within %v after its context had ended", e.Cause, Grace)
}

// Run calls function and returns its error, which for a panic has the stack.
//
// The function's context ends when ctx or application ends. If the function does
// not return within Grace after application has ended, Run returns a *NotReturned;
// the end of ctx alone sets no such limit. If sessionTimeout is not 0 and the
// function does not call sessionCreated in that time, its context ends and Run
// returns a *NoSession.
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
			cause = &NoSession{sessionTimeout}
		case <-application.Done():
			cause = context.Cause(application)
		}
	}
	cancel(cause)
	select {
	case err := <-returned:
		if late := (*NoSession)(nil); errors.As(cause, &late) {
			return cause
		}
		return err
	case <-time.After(Grace):
		return &NotReturned{Cause: cause, Returned: returned}
	}
}

// call sends the error that function returns, or an error that describes its panic
// or its call of runtime.Goexit.
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
