package executorbackend

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// recording is a driver that keeps what it is told, and goes on listening when
// the executor's context has ended.
type recording struct {
	messages chan *wire.DriverMessage
	told     chan *wire.ExecutorMessage
	ctx      context.Context
}

func (r *recording) Send(message *wire.ExecutorMessage) error { r.told <- message; return nil }
func (r *recording) CloseSend() error                         { return nil }
func (r *recording) Recv() (*wire.DriverMessage, error) {
	select {
	case message := <-r.messages:
		return message, nil
	case <-r.ctx.Done():
		return nil, context.Cause(r.ctx)
	}
}

// Why an executor was ended decides whether its tasks failed: a preemption is
// not their fault, and a task that runs out of memory again and again is.
func TestTasksThatEndWithTheirExecutorAreLeftToTheClusterManager(t *testing.T) {
	started := make(chan struct{})
	name := registered(func(ctx context.Context, _ function.Call) ([]byte, error) {
		close(started)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	ctx, end := context.WithCancelCause(t.Context())
	stream := &recording{messages: make(chan *wire.DriverMessage, 9), told: make(chan *wire.ExecutorMessage, 9), ctx: ctx}
	stream.messages <- &wire.DriverMessage{
		Registered: &wire.Registered{},
		TaskSets:   []*wire.TaskSet{{Id: 1, Function: name}},
		Launches:   []*wire.Launch{launch(5, "")},
	}
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, Options{ID: "1", Host: "h", Cores: 1}, stream) }()
	<-started
	terminated := errors.New("terminated")
	end(terminated)
	require.ErrorIs(t, <-served, terminated)
	close(stream.told)
	for message := range stream.told {
		require.Empty(t, updatesOf(message))
	}
}
