package am

import (
	"context"
	"fmt"
	"time"
)

// DriverGrace is how long a driver function may go on after its context has
// ended. Until it returns, or is given up, the application holds its containers.
const DriverGrace = 10 * time.Second

// noSession is the error of a driver function that did not create a session in
// time.
type noSession struct{ patience time.Duration }

func (n *noSession) Error() string {
	return fmt.Sprintf("the driver function did not create a session within %v (yarn.am.waitTime)", n.patience)
}

// NotReturned is the error of a driver function that was given up: it had not
// returned DriverGrace after the end of its context.
type NotReturned struct {
	Cause    error        // why the context ended
	Returned <-chan error // gives what the function returns, if it ever does
}

// Unwrap returns why the function's context ended.
func (n *NotReturned) Unwrap() error { return n.Cause }

func (n *NotReturned) Error() string {
	return fmt.Sprintf("%v; the driver function did not return within %v after its context had ended", n.Cause, DriverGrace)
}

// Supervise runs the user's driver function and returns its error. The function
// must call created within patience, or its context ends with an error that says
// so, which Supervise then returns. A function that does not return in time after
// the end of its context goes on until the process ends: the error is then a
// *NotReturned. A panic in run must have been made an error.
func Supervise(ctx context.Context, patience time.Duration, run func(ctx context.Context, created func()) error) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	late := time.AfterFunc(patience, func() { stop(&noSession{patience}) })
	defer late.Stop()
	returned := make(chan error, 1)
	go func() { returned <- run(running, func() { late.Stop() }) }()
	select {
	case err := <-returned:
		return err
	case <-running.Done():
	}
	cause := context.Cause(running)
	select {
	case err := <-returned:
		if _, ok := cause.(*noSession); ok {
			return cause
		}
		return err
	case <-time.After(DriverGrace):
		return &NotReturned{Cause: cause, Returned: returned}
	}
}
