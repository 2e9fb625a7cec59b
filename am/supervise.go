package am

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// noSession is the error of a driver function that did not create a session in
// time.
type noSession struct{ patience time.Duration }

func (n *noSession) Error() string {
	return fmt.Sprintf("the driver function did not create a session within %v (yarn.am.waitTime)", n.patience)
}

// Supervise runs the user's driver function to its end and returns its error.
// The function must call created within patience, or its context ends with an
// error that says so, which Supervise then returns. A panic in run must have been
// made an error.
func Supervise(ctx context.Context, patience time.Duration, run func(ctx context.Context, created func()) error) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	created := make(chan struct{})
	var once sync.Once
	returned := make(chan error, 1)
	go func() { returned <- run(running, func() { once.Do(func() { close(created) }) }) }()

	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-returned:
		return err
	case <-created:
		return <-returned
	case <-late.C:
	}
	err := &noSession{patience}
	stop(err)
	<-returned
	return err
}
