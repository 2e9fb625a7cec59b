package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// measureMinimum submits an application whose ApplicationMaster is a shell command. It returns
// the time from the submission until the command runs and connects to this process.
func (b *bench) measureMinimum(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()

	application, err := b.rest.NewApplication(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = b.rest.SubmitApplication(ctx, &yarnrest.SubmissionContext{
		ID:          application.ID,
		Name:        "floor",
		Queue:       "default",
		MaxAttempts: 1,
		Resource:    yarnrest.Resource{MemoryMB: 1024, VCores: 1},
		AM: yarnrest.ContainerSpec{
			Commands: []string{fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d; sleep 600", listener.Addr().(*net.TCPAddr).Port)},
		},
	})
	if err != nil {
		return 0, err
	}
	connection, err := listener.Accept()
	took := time.Since(began)
	if err != nil {
		return 0, errors.Join(err, context.Cause(ctx), b.end(ctx, application.ID))
	}
	_ = connection.Close() // only the connection is needed
	return took, b.end(ctx, application.ID)
}

// end kills an application and waits until its containers have ended, so that the next run
// starts on an idle cluster.
func (b *bench) end(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), runTimeout)
	defer cancel()
	if err := b.rest.Kill(ctx, id, "measured"); err != nil {
		return err
	}
	return poll(ctx, 20*time.Millisecond, func() (bool, error) {
		state, err := b.rest.State(ctx, id)
		if err != nil || !state.Ended() {
			return false, err
		}
		metrics, err := b.rest.Metrics(ctx)
		return err == nil && metrics.ContainersAllocated == 0, err
	})
}

// poll calls the function done at the given interval, until done returns true or an error, or
// until ctx ends.
func poll(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
