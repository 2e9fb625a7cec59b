package executorbackend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestMain(m *testing.M) {
	function.Register("echo", func(_ context.Context, call function.Call) ([]byte, error) {
		return fmt.Appendf(nil, "%s %d/%d on %s@%s with %d: %s%s", call.TaskSet, call.Index, call.AttemptNumber,
			call.ExecutorID, call.Host, call.CPUs, call.Shared, call.Input), nil
	})
	function.Register("error", func(context.Context, function.Call) ([]byte, error) { return nil, errors.New("it went wrong") })
	function.Register("permanent", func(context.Context, function.Call) ([]byte, error) {
		return nil, fmt.Errorf("wrapped: %w", permanentError{})
	})
	function.Register("panic", func(context.Context, function.Call) ([]byte, error) { return panicDeeper() })
	function.Register("nil pointer", func(_ context.Context, call function.Call) ([]byte, error) {
		var missing map[string]*task
		return nil, errors.New(missing[call.Host].set.name)
	})
	function.Register("goexit", func(context.Context, function.Call) ([]byte, error) { runtime.Goexit(); return nil, nil })
	function.Register("wait", func(ctx context.Context, _ function.Call) ([]byte, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	function.Register("sleep", func(_ context.Context, call function.Call) ([]byte, error) {
		d, err := time.ParseDuration(string(call.Input))
		time.Sleep(d)
		return nil, err
	})
	function.Register("size", func(_ context.Context, call function.Call) ([]byte, error) {
		var size int
		_, err := fmt.Sscan(string(call.Input), &size)
		return pattern(size), err
	})
	function.Register("long error", func(context.Context, function.Call) ([]byte, error) {
		return nil, errors.New(strings.Repeat("x", 10<<20))
	})
	function.Register("binary error", func(context.Context, function.Call) ([]byte, error) {
		return nil, errors.New("read \xff\xfe here")
	})
	leaktest.Main(m)
}

type permanentError struct{}

func (permanentError) Error() string   { return "never" }
func (permanentError) Permanent() bool { return true }

//go:noinline
func panicDeeper() ([]byte, error) { panic(errors.New("the user's mistake")) }

func pattern(size int) []byte {
	return bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
}

// scripted is the driver's side of an executor's stream. The test plays the driver.
type scripted struct {
	t            *testing.T
	stream       wire.DriverSide
	cancel       context.CancelFunc // cancels the executor's context
	updates      []*wire.TaskUpdate // updates that were received and that update has not yet returned
	registration *wire.ExecutorMessage
	served       chan error
}

func start(t *testing.T, options Options) *scripted {
	if options.ID == "" {
		options.ID, options.Host, options.Cores = "7", "node", 2
	}
	return served(t, func(ctx context.Context, stream wire.ExecutorSide) error { return Serve(ctx, options, stream) })
}

// attachTo starts a stream of an executor. It can be called again for the same executor.
func attachTo(t *testing.T, x *executor) *scripted {
	return served(t, func(ctx context.Context, stream wire.ExecutorSide) error {
		return x.serve(ctx, stream, func() { _ = stream.CloseSend() }).err
	})
}

func served(t *testing.T, serve func(context.Context, wire.ExecutorSide) error) *scripted {
	ctx, cancel := context.WithCancel(t.Context())
	driverSide, executorSide := wire.Pipe(ctx)
	s := &scripted{t: t, stream: driverSide, cancel: cancel, served: make(chan error, 1)}
	go func() { s.served <- serve(ctx, executorSide) }()
	s.registration = s.recv()
	require.NotNil(t, s.registration.GetRegister())
	s.send(&wire.DriverMessage{Registered: &wire.Registered{}})
	return s
}

func (s *scripted) send(message *wire.DriverMessage) { require.NoError(s.t, s.stream.Send(message)) }

func (s *scripted) recv() *wire.ExecutorMessage {
	message, err := s.stream.Recv()
	require.NoError(s.t, err)
	return message
}

// update returns the next update that is not a part of a result.
func (s *scripted) update() *wire.TaskUpdate {
	for {
		for i, update := range s.updates {
			if update.GetState() != wire.TaskState_TASK_STATE_PART {
				s.updates = s.updates[i+1:]
				return update
			}
		}
		s.updates = updatesOf(s.recv())
	}
}

// together returns the updates of the next message that contains updates.
func (s *scripted) together() []*wire.TaskUpdate {
	for {
		if updates := updatesOf(s.recv()); len(updates) > 0 {
			return updates
		}
	}
}

// updatesOf returns a message's updates, and its compactly encoded successes as updates.
func updatesOf(message *wire.ExecutorMessage) []*wire.TaskUpdate {
	updates := message.GetUpdates()
	one := &wire.TaskUpdate{}
	for successes := message.GetSuccesses().Read(one); successes.Next(); {
		updates = append(updates, proto.CloneOf(one))
	}
	return updates
}

func (s *scripted) stop() {
	s.send(&wire.DriverMessage{Stop: &wire.Stop{Reason: "done"}})
	require.NoError(s.t, <-s.served)
	s.cancel()
}

func launch(attempt uint64, input string) *wire.Launch {
	return &wire.Launch{Attempt: attempt, TaskSet: 1, Indexes: []uint32{3}, AttemptNumber: 1, Cpus: 1, Inputs: [][]byte{[]byte(input)}}
}

func sets(function string) []*wire.TaskSet {
	return []*wire.TaskSet{{Id: 1, Name: "count", Function: function, Common: []byte("common ")}}
}

func settings(t *testing.T, values map[string]string) *config.Config {
	c, err := config.FromMap(values)
	require.NoError(t, err)
	return c
}
