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

// WaitOptions say how an application is waited for.
type WaitOptions struct {
	Console *Console
	// Timeout is after what time the application is killed; 0 for never.
	Timeout time.Duration
	// Leave tells of what ctx ended with whether the application is left alone
	// then. nil has it killed.
	Leave func(cause error) bool
}

// Wait follows an application that was submitted before to its end, as Submit
// does: the error of one that did not succeed is a *Failure, and when ctx ends
// before, the application is killed.
func (c *Cluster) Wait(ctx context.Context, id string, o WaitOptions) (*Report, error) {
	if err := CheckApplicationID(id); err != nil {
		return nil, err
	}
	application, err := c.rest.Application(ctx, id)
	if err != nil {
		return nil, UnknownApplication(id, err)
	}
	follower := c.newFollower(id, time.Second, o.Console)
	follower.times = Times{Submitted: application.Started}
	following, cancel := WithTimeout(ctx, o.Timeout)
	defer cancel()
	if application, err = follower.toEnd(following); err != nil && following.Err() != nil {
		if cause := context.Cause(following); o.Leave != nil && o.Leave(cause) {
			return nil, Failed(fmt.Errorf("%w; %s goes on: wait for it again with yarn-submit wait %[2]s, end it with yarn-submit kill %[2]s", cause, id))
		}
		application, err = c.killFollowed(following, follower)
	}
	if err != nil {
		return nil, err
	}
	return tell(application, follower.times, o.Console)
}

// tell prints how an application ended, and gives its report.
func tell(application *yarnrest.Application, times Times, console *Console) (*Report, error) {
	report, err := conclude(application, times)
	var failure *Failure
	if errors.As(err, &failure) && failure.Details != "" {
		console.Print("%s", failure.Details)
	}
	report.Print(console)
	return report, err
}

// killFollowed ends an application after the context that it was followed by
// has ended, and waits until YARN says that it is over.
func (c *Cluster) killFollowed(ctx context.Context, follower *follower) (*yarnrest.Application, error) {
	cause := context.Cause(ctx)
	follower.display.console.Print("%v: killing %s; once more to leave at once", cause, follower.id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	err := c.rest.Kill(ctx, follower.id, killReason(cause))
	if err == nil {
		var application *yarnrest.Application
		if application, err = follower.toEnd(ctx); err == nil {
			return application, nil
		}
	}
	return nil, Refused(fmt.Errorf("%s may still be running, stop it with yarn-submit kill %[1]s: %w", follower.id, err))
}

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
