package executorbackend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestTaskReceivesItsCall(t *testing.T) {
	s := start(t, Options{})
	s.send(&wire.DriverMessage{TaskSets: sets("echo"), Launches: []*wire.Launch{launch(9, "input")}})
	update := s.update()
	require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, update.GetState())
	require.Equal(t, uint64(9), update.GetAttempt())
	require.Equal(t, "count 3/1 on 7@node with 1: common input", string(update.GetResult()))
	require.Equal(t, uint64(len(update.GetResult())), update.GetMetrics().GetResultBytes())
	s.stop()
}

func TestFailures(t *testing.T) {
	for _, test := range []struct {
		function, input, message, stack string
		permanent                       bool
	}{
		{function: "error", message: "it went wrong"},
		{function: "permanent", message: "wrapped: never", permanent: true},
		{function: "panic", message: "panic: the user's mistake", stack: "executorbackend.panicDeeper("},
		{function: "nil pointer", message: "panic: runtime error: invalid memory address", stack: "executorbackend.TestMain.func"},
		{function: "goexit", message: "runtime.Goexit"},
		{function: "unheard", message: `has no function "unheard"`, permanent: true},
		{function: "size", input: "2000000", message: "2000000 bytes encoded, the most is 1048576 (1m)", permanent: true},
		{function: "long error", message: "bytes more)"},
		{function: "binary error", message: "read \uFFFD here"},
	} {
		t.Run(test.function, func(t *testing.T) {
			s := start(t, Options{Config: settings(t, map[string]string{"task.maxResultSize": "1m"})})
			s.send(&wire.DriverMessage{TaskSets: sets(test.function), Launches: []*wire.Launch{launch(9, test.input)}})
			update := s.update()
			require.Equal(t, wire.TaskState_TASK_STATE_FAILED, update.GetState())
			require.Contains(t, update.GetFailure().GetMessage(), test.message)
			require.Less(t, len(update.GetFailure().GetMessage()), 64<<10)
			require.True(t, utf8.ValidString(update.GetFailure().GetMessage()), "protobuf requires it")
			require.Equal(t, test.permanent, update.GetFailure().GetPermanent())
			require.Contains(t, update.GetFailure().GetStack(), test.stack)
			require.Equal(t, test.stack == "", update.GetFailure().GetStack() == "")
			s.stop()
		})
	}
}

func TestTrimStackKeepsTheUsersFrames(t *testing.T) {
	const own = "github.com/bobbin-yarn/bobbin"
	trace := `goroutine 22 [running]:
runtime/debug.Stack()
	/go/src/runtime/debug/stack.go:26 +0x5e
` + own + `/executorbackend.abnormalEnd({0x1, 0x2})
	/x/executorbackend/task.go:1 +0x1
panic({0x5, 0x6})
	/go/src/runtime/panic.go:783 +0x132
runtime.panicmem(...)
	/go/src/runtime/panic.go:262
main.inner(0x3)
	/home/user/main.go:12 +0x3
main.outer.func1(0x3)
	/home/user/main.go:20 +0x3
` + own + `.Func[...].func1({0x1})
	/x/function.go:3 +0x3
` + own + `/executorbackend.(*engine).run(0x1)
	/x/executorbackend/task.go:3 +0x4
created by ` + own + `/executorbackend.(*engine).startWaiting in goroutine 9
	/x/executorbackend/engine.go:1 +0x4
`
	require.Equal(t, "main.inner(0x3)\n\t/home/user/main.go:12 +0x3\nmain.outer.func1(0x3)\n\t/home/user/main.go:20 +0x3", trimStack(trace))
	require.Equal(t, "odd", trimStack("odd"))
}

func TestKill(t *testing.T) {
	s := start(t, Options{})
	s.send(&wire.DriverMessage{TaskSets: sets("wait"), Launches: []*wire.Launch{launch(1, ""), launch(2, ""), launch(3, "")}})
	// The third task waits for a core.
	s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 3, Reason: "not wanted"}, {Attempt: 77, Reason: "unknown"}}})
	update := s.update()
	require.Equal(t, uint64(3), update.GetAttempt())
	require.Equal(t, wire.TaskState_TASK_STATE_KILLED, update.GetState())
	require.Equal(t, "not wanted", update.GetFailure().GetMessage())
	s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 1, Reason: "not wanted"}}})
	update = s.update()
	require.Equal(t, uint64(1), update.GetAttempt())
	require.Equal(t, wire.TaskState_TASK_STATE_KILLED, update.GetState())
	require.Equal(t, "not wanted", update.GetFailure().GetMessage())
	s.stop()
}

func TestCoresAreNeverOvercommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "h", Cores: 3, Config: settings(t, map[string]string{"executor.heartbeatInterval": "1d", "network.timeout": "2d"})})
		began := time.Now()
		two := launch(4, "1s")
		two.Cpus = 2
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: []*wire.Launch{
			launch(1, "1s"), launch(2, "1s"), launch(3, "2s"), two, launch(5, "1s"),
		}})
		ends := map[uint64]time.Duration{}
		for len(ends) < 5 {
			ends[s.update().GetAttempt()] = time.Since(began)
		}
		// Attempts 1, 2 and 3 use all cores. Attempt 4 uses the cores of 1 and 2 after them.
		// Attempt 5 waits until attempt 4 has started.
		require.Equal(t, map[uint64]time.Duration{1: 1e9, 2: 1e9, 3: 2e9, 4: 2e9, 5: 3e9}, ends)
		s.send(&wire.DriverMessage{Launches: []*wire.Launch{{Attempt: 6, TaskSet: 1, Indexes: []uint32{0}, Cpus: 4}}})
		require.Contains(t, s.update().GetFailure().GetMessage(), "takes 4 cores and executor 1 has 3")
		s.stop()
	})
}

func TestForgottenSetsAndRepeatedLaunchesAreHarmless(t *testing.T) {
	s := start(t, Options{})
	again := launch(1, "")
	s.send(&wire.DriverMessage{TaskSets: []*wire.TaskSet{{Id: 1, Function: "wait"}}, Launches: []*wire.Launch{again, again}, Forget: []uint64{1, 8}})
	s.send(&wire.DriverMessage{Launches: []*wire.Launch{launch(2, "")}})
	require.Contains(t, s.update().GetFailure().GetMessage(), "before the set itself")
	s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 1}}})
	require.Equal(t, uint64(1), s.update().GetAttempt())
	s.stop()
}

func TestLargeResultIsSentInParts(t *testing.T) {
	const size = 5<<20 + 17
	s := start(t, Options{Config: settings(t, map[string]string{"executor.heartbeatInterval": "1ms"})})
	s.send(&wire.DriverMessage{TaskSets: sets("size"), Launches: []*wire.Launch{launch(1, fmt.Sprint(size))}})
	ran := s.update()
	require.Equal(t, wire.TaskState_TASK_STATE_STORED, ran.GetState())
	require.Equal(t, uint64(size), ran.GetStoredBytes())
	require.Equal(t, uint64(size), ran.GetMetrics().GetResultBytes())
	s.send(&wire.DriverMessage{Fetches: []uint64{1}})
	var got []byte
	for finished := false; !finished; {
		message := s.recv()
		carried := 0
		for _, update := range updatesOf(message) {
			got = append(got, update.GetResult()...)
			carried += len(update.GetResult())
			finished = update.GetState() == wire.TaskState_TASK_STATE_FINISHED
		}
		require.LessOrEqual(t, carried, wire.MaxPart)
	}
	require.True(t, bytes.Equal(pattern(size), got))
	s.stop()
}

func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		began := time.Now()
		s.send(&wire.DriverMessage{TaskSets: sets("wait"), Launches: []*wire.Launch{launch(5, ""), launch(6, ""), launch(4, "")}})
		first := s.recv().GetHeartbeat()
		require.Less(t, time.Since(began), 10*time.Second)
		require.Len(t, first.GetProgress(), 2)
		require.EqualValues(t, 5, first.GetProgress()[0].GetAttempt())
		require.EqualValues(t, 6, first.GetProgress()[1].GetAttempt(), "the third waits for a core")
		require.Greater(t, first.GetResidentBytes(), uint64(1<<20))
		at := time.Now()
		for range 5 {
			require.NotNil(t, s.recv().GetHeartbeat())
			require.Equal(t, 10*time.Second, time.Since(at))
			at = time.Now()
		}
		s.stop()
	})
}

func TestExecutorEndsWhenTheDriverReceivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, closeStream := context.WithCancel(t.Context())
		defer closeStream()
		_, executorSide := wire.Pipe(stream)
		began := time.Now()
		x := newExecutor(Options{ID: "7", Host: "h", Cores: 1, Config: settings(t, map[string]string{
			"executor.heartbeatInterval": "1s", "network.timeout": "2m"})}.withDefaults())
		err := x.serve(t.Context(), executorSide, closeStream).err
		require.Equal(t, ExitHeartbeatFailure, ExitCode(err), "%v", err)
		// The pipe has buffered the heartbeats of the first minute, so the timeout began later.
		require.InDelta(t, 3*time.Minute, time.Since(began), float64(10*time.Second))
	})
}

func TestCredentialsAreUsedAndAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 3)
		use := func(content []byte) error {
			got <- string(content)
			if string(content) == "damaged" {
				return errors.New("not a Hadoop credentials file")
			}
			return nil
		}
		s := start(t, Options{ID: "1", Cores: 1, Credentials: use})
		s.send(&wire.DriverMessage{Credentials: &wire.Credentials{Version: 3, Content: []byte("tokens")}})
		require.Equal(t, "tokens", <-got)
		message := s.recv() // a heartbeat
		require.NotNil(t, message.GetHeartbeat())
		require.EqualValues(t, 3, message.GetCredentialsVersion())
		s.send(&wire.DriverMessage{Credentials: &wire.Credentials{Version: 4, Content: []byte("damaged")}})
		require.Equal(t, "damaged", <-got)
		require.Zero(t, s.recv().GetCredentialsVersion())
		s.stop()
	})
}

func TestRefusal(t *testing.T) {
	driverSide, executorSide := wire.Pipe(t.Context())
	require.NoError(t, driverSide.Send(&wire.DriverMessage{Refused: &wire.Refused{Reason: "node h is excluded"}}))
	err := Serve(t.Context(), Options{ID: "1", Host: "h"}, executorSide)
	require.Equal(t, ExitRefused, ExitCode(err))
	require.ErrorContains(t, err, "node h is excluded")
	_, err = driverSide.Recv() // the executor's registration
	require.NoError(t, err)
	_, err = driverSide.Recv()
	require.ErrorIs(t, err, io.EOF)
}

func TestLostStreamCancelsTasks(t *testing.T) {
	s := start(t, Options{})
	s.send(&wire.DriverMessage{TaskSets: sets("wait"), Launches: []*wire.Launch{launch(1, "")}})
	require.NoError(t, s.stream.(interface{ CloseSend() error }).CloseSend())
	err := <-s.served
	require.Equal(t, ExitDisconnected, ExitCode(err))
	require.ErrorContains(t, err, "executor 7 lost its stream to the driver")
	s.cancel()
}

func TestExecutorEndsWithItsContext(t *testing.T) {
	s := start(t, Options{})
	s.send(&wire.DriverMessage{TaskSets: sets("wait"), Launches: []*wire.Launch{launch(1, "")}})
	s.cancel()
	require.ErrorIs(t, <-s.served, context.Canceled)
}

func TestStopWaitsUpToItsTimeoutForTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{})
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: []*wire.Launch{launch(1, "1h")}})
		began := time.Now()
		s.stop()
		require.Equal(t, stopTimeout, time.Since(began))
		time.Sleep(time.Hour) // until the task ends
	})
}

func TestResidentBytes(t *testing.T) {
	require.Greater(t, residentBytes(), uint64(1<<20))
	require.Zero(t, residentBytes()%uint64(os.Getpagesize()))
}

func TestExitCodes(t *testing.T) {
	require.Equal(t, 0, ExitCode(nil))
	require.Equal(t, 1, ExitCode(errors.New("x")))
	require.Equal(t, ExitRefused, ExitCode(fmt.Errorf("y: %w", exitError(ExitRefused, "z"))))
}

func TestTheFieldsOfAMessageActInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holder := registered(func(_ context.Context, call function.Call) ([]byte, error) {
			call.Hold("key")
			return call.Shared, nil
		})
		s := start(t, Options{ID: "1", Host: "node", Cores: 2})
		s.send(&wire.DriverMessage{TaskSets: sets(holder), Launches: []*wire.Launch{launch(1, "")}})
		require.EqualValues(t, 1, s.update().GetAttempt())
		s.send(&wire.DriverMessage{
			TaskSets: []*wire.TaskSet{{Id: 2, Function: "wait"}},
			Launches: []*wire.Launch{{Attempt: 2, TaskSet: 2, Indexes: []uint32{0, 1, 2}, Queued: true}},
		})
		synctest.Wait()
		s.send(&wire.DriverMessage{
			Release:  []string{"key"},
			TaskSets: []*wire.TaskSet{{Id: 3, Function: holder, Common: []byte("shared")}},
			Recall:   true,
			Launches: []*wire.Launch{{Attempt: 5, TaskSet: 3, Indexes: []uint32{0, 1}, Queued: true}},
			Kills:    []*wire.KillTask{{Attempt: 2}, {Attempt: 6}},
		})
		states, held := map[uint64]wire.TaskState{}, []string{}
		for len(states) < 4 {
			message := s.recv()
			held = append(held, message.GetHolds()...)
			for _, update := range updatesOf(message) {
				states[update.GetAttempt()] = update.GetState()
			}
		}
		require.Equal(t, map[uint64]wire.TaskState{
			2: wire.TaskState_TASK_STATE_KILLED,
			4: wire.TaskState_TASK_STATE_RECALLED, // recalled
			5: wire.TaskState_TASK_STATE_FINISHED, // launched after the recall
			6: wire.TaskState_TASK_STATE_KILLED,   // launched before its kill
		}, states)
		require.Equal(t, []string{"key"}, held, "released before the launches")

		// Within a message, Forget is handled after Launches. So the executor can run attempt 7,
		// but no later attempt of the set.
		s.send(&wire.DriverMessage{
			TaskSets: []*wire.TaskSet{{Id: 4, Function: "sleep"}}, Forget: []uint64{4},
			Launches: []*wire.Launch{{Attempt: 7, TaskSet: 4, Indexes: []uint32{0}, Inputs: [][]byte{[]byte("1s")}}},
		})
		require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, s.update().GetState())
		s.send(&wire.DriverMessage{Launches: []*wire.Launch{{Attempt: 8, TaskSet: 4, Indexes: []uint32{0}}}, Stop: &wire.Stop{}})
		require.NoError(t, <-s.served)
		s.cancel()
	})
}

// recording is a stream that records what the executor sends, even after the
// executor's context has ended.
type recording struct {
	messages chan *wire.DriverMessage
	sent     chan *wire.ExecutorMessage
	ctx      context.Context
}

func (r *recording) Send(message *wire.ExecutorMessage) error { r.sent <- message; return nil }
func (r *recording) CloseSend() error                         { return nil }
func (r *recording) Recv() (*wire.DriverMessage, error) {
	select {
	case message := <-r.messages:
		return message, nil
	case <-r.ctx.Done():
		return nil, context.Cause(r.ctx)
	}
}

// When an executor ends, the cluster manager reports the reason. The reason determines whether
// the failures of the executor's tasks count: they do not if the executor was preempted, but
// they do if it ran out of memory. So the executor does not report these failures itself.
func TestTasksThatEndWithTheirExecutorAreNotReported(t *testing.T) {
	started := make(chan struct{})
	name := registered(func(ctx context.Context, _ function.Call) ([]byte, error) {
		close(started)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	ctx, end := context.WithCancelCause(t.Context())
	stream := &recording{messages: make(chan *wire.DriverMessage, 9), sent: make(chan *wire.ExecutorMessage, 9), ctx: ctx}
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
	close(stream.sent)
	for message := range stream.sent {
		require.Empty(t, updatesOf(message))
	}
}
