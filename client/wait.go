package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// WaitOptions are the options of [Cluster.Wait].
type WaitOptions struct {
	Console *Console
	// Timeout is the time after which Wait kills the application; 0 means never.
	Timeout time.Duration
	// KeepRunning reports whether the application must continue after ctx has ended, or Timeout
	// has passed, with the given cause. If KeepRunning is nil or returns false, Wait kills the
	// application.
	KeepRunning func(cause error) bool
}

// Wait waits until an application has ended, and shows its progress. It returns a *Failure if the
// application did not succeed. If ctx ends or o.Timeout passes first, Wait kills the application,
// unless o.KeepRunning returns true.
func (c *Cluster) Wait(ctx context.Context, id string, o WaitOptions) (*Report, error) {
	if err := CheckApplicationID(id); err != nil {
		return nil, err
	}
	application, err := c.apps.Application(ctx, id)
	if err != nil {
		return nil, UnknownApplication(id, err)
	}
	follower := c.newFollower(id, time.Second, o.Console)
	follower.times = StateTimes{Submitted: application.Started}
	following, cancel := WithTimeout(ctx, o.Timeout)
	defer cancel()
	if application, err = follower.untilEnd(following); err != nil && following.Err() != nil {
		if cause := context.Cause(following); o.KeepRunning != nil && o.KeepRunning(cause) {
			return nil, FailedError(fmt.Errorf("%w; %s goes on: wait for it again with yarn-submit wait %[2]s, end it with yarn-submit kill %[2]s", cause, id))
		}
		application, err = c.killFollowed(following, follower)
	}
	if err != nil {
		return nil, err
	}
	return printEnd(application, follower.times, o.Console)
}

// printEnd prints the result of an application, and returns its report.
func printEnd(application *yarnrest.Application, times StateTimes, console *Console) (*Report, error) {
	report, err := conclude(application, times)
	var failure *Failure
	if errors.As(err, &failure) && failure.Details != "" {
		console.Print("%s", failure.Details)
	}
	report.Print(console)
	return report, err
}

// killFollowed kills an application because ctx has ended, and waits until the application has
// ended.
func (c *Cluster) killFollowed(ctx context.Context, follower *follower) (*yarnrest.Application, error) {
	cause := context.Cause(ctx)
	follower.display.console.Print("%v: killing %s; a second Ctrl-C exits at once", cause, follower.id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	err := c.killApplication(ctx, follower.id, killReason(cause))
	if err == nil {
		var application *yarnrest.Application
		if application, err = follower.untilEnd(ctx); err == nil {
			return application, nil
		}
	}
	return nil, RefusedError(fmt.Errorf("%s may still be running, stop it with yarn-submit kill %[1]s: %w", follower.id, err))
}

// timeoutError is the cause with which a context of [WithTimeout] ends.
type timeoutError struct{ timeout time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("it took longer than %v (--timeout)", e.timeout)
}

// WithTimeout returns a context that ends after timeout, with a cause that contains the timeout. If
// timeout is 0, there is no timeout.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, &timeoutError{timeout})
}

// killReason returns the reason for the kill, which the ResourceManager records.
func killReason(cause error) string {
	var late *timeoutError
	if errors.As(cause, &late) {
		return late.Error()
	}
	return cause.Error() + " of " + filepath.Base(os.Args[0])
}
