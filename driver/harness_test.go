package driver_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/proptest"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestMain(m *testing.M) {
	proptest.Checks("30")
	function.Register("noop", func(context.Context, function.Call) ([]byte, error) { return nil, nil })
	function.Register("square", func(_ context.Context, call function.Call) ([]byte, error) {
		n := binary.BigEndian.Uint64(call.Input)
		return number(n * n), nil
	})
	function.Register("where", func(_ context.Context, call function.Call) ([]byte, error) { return []byte(call.ExecutorID), nil })
	function.Register("wait", func(ctx context.Context, _ function.Call) ([]byte, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	function.Register("fail until", func(_ context.Context, call function.Call) ([]byte, error) {
		if call.AttemptNumber < int(binary.BigEndian.Uint64(call.Input)) {
			return nil, fmt.Errorf("try %d went wrong", call.AttemptNumber)
		}
		return []byte("good"), nil
	})
	function.Register("panic", func(context.Context, function.Call) ([]byte, error) { panic("the user's mistake") })
	function.Register("mirror", func(_ context.Context, call function.Call) ([]byte, error) {
		return append(call.Shared[:len(call.Shared):len(call.Shared)], call.Input...), nil
	})
	function.Register("nap", func(_ context.Context, call function.Call) ([]byte, error) {
		time.Sleep(time.Duration(binary.BigEndian.Uint64(call.Input)))
		return nil, nil
	})
	function.Register("flaky square", func(ctx context.Context, call function.Call) ([]byte, error) {
		n := binary.BigEndian.Uint64(call.Input)
		duration := time.Duration(n%50) * time.Millisecond
		if n%13 == 7 && call.AttemptNumber == 0 {
			duration = 2 * time.Second // long enough for a speculative copy
		}
		select {
		case <-time.After(duration):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch {
		case n%7 == 3 && call.AttemptNumber == 0:
			return nil, errors.New("not yet")
		case n%11 == 5 && call.AttemptNumber == 0:
			panic("not yet either")
		}
		if allowed, err := call.Driver.CanCommit(ctx); err != nil || !allowed {
			return nil, errors.Join(err, function.ErrCommitDenied)
		}
		return number(n * n), nil
	})
	function.Register("short square", func(ctx context.Context, call function.Call) ([]byte, error) {
		n := binary.BigEndian.Uint64(call.Input)
		switch {
		case n%97 == 5 && call.AttemptNumber == 0:
			return nil, errors.New("not yet")
		case n%1013 == 7:
			time.Sleep(300 * time.Millisecond) // tasks queued after this task are recalled
		default:
			time.Sleep(time.Duration(n%20) * time.Microsecond)
		}
		return number(n * n), nil
	})
	function.Register("flaky meeting", func(ctx context.Context, call function.Call) ([]byte, error) {
		n := binary.BigEndian.Uint64(call.Input)
		for i := range 3 {
			select {
			case <-time.After(time.Duration(n) * 100 * time.Millisecond):
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
			if i == 1 && n == 2 && call.AttemptNumber == 0 {
				return nil, errors.New("not yet")
			}
			if err := call.Driver.Barrier(ctx); err != nil {
				return nil, err
			}
		}
		return number(n * n), nil
	})
	leaktest.Main(m)
}

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// squares returns a job whose tasks each square their index.
func squares(tasks int) driver.TaskSet {
	job := driver.TaskSet{Name: "squares", Function: "square"}
	for i := range tasks {
		job.Tasks = append(job.Tasks, driver.Task{Input: number(uint64(i))})
	}
	return job
}

// requireSquares runs squares and requires exactly one result of each task.
func requireSquares(t require.TestingT, ctx context.Context, d *driver.Driver, tasks int) {
	seen := make([]bool, tasks)
	count := 0
	for result, err := range d.Run(ctx, squares(tasks)) {
		require.NoError(t, err)
		require.False(t, seen[result.Index], "task %d twice", result.Index)
		seen[result.Index] = true
		require.Equal(t, uint64(result.Index*result.Index), binary.BigEndian.Uint64(result.Value))
		count++
	}
	require.Equal(t, tasks, count)
}

// outcome runs a job until it ends, and returns its results by task index.
func outcome(ctx context.Context, d *driver.Driver, job driver.TaskSet) (results map[int]driver.Result, err error) {
	results = map[int]driver.Result{}
	for result, failed := range d.Run(ctx, job) {
		if failed != nil {
			err = failed
			continue
		}
		results[result.Index] = result
	}
	return results, err
}

func settings(t require.TestingT, values map[string]string) *config.Config {
	c, err := config.FromMap(values)
	require.NoError(t, err)
	return c
}

func start(t *testing.T, options driver.Options) *driver.Driver {
	if options.Logger == nil {
		options.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	d, err := driver.New(options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Stop(context.Background())) })
	return d
}

// executor is an executor of package executorbackend in this process, which the test can kill.
type executor struct {
	kill  context.CancelFunc
	ended chan struct{}
	err   error // result of Serve; set before ended is closed
}

func attach(t *testing.T, d *driver.Driver, options executorbackend.Options) *executor {
	if options.Host == "" {
		options.Host = "host" + options.ID
	}
	if options.Cores == 0 {
		options.Cores = 2
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &executor{kill: cancel, ended: make(chan struct{})}
	go func() {
		defer close(e.ended)
		e.err = d.AttachLocal(ctx, func(ctx context.Context, stream wire.ExecutorSide) error {
			return executorbackend.Serve(ctx, options, stream)
		})
	}()
	t.Cleanup(func() { cancel(); <-e.ended })
	return e
}

// puppet is an executor whose messages the test sends and receives.
type puppet struct {
	t        *testing.T
	stream   wire.ExecutorSide
	leave    context.CancelFunc
	err      chan error     // result of Attach
	received []*wire.Launch // launches that recv has received and launches has not yet returned
}

func attachPuppet(t *testing.T, d *driver.Driver) *puppet {
	ctx, cancel := context.WithCancel(context.Background())
	driverSide, executorSide := wire.Pipe(ctx)
	p := &puppet{t: t, stream: executorSide, leave: cancel, err: make(chan error, 1)}
	go func() { p.err <- d.Attach(ctx, driverSide) }()
	t.Cleanup(cancel)
	return p
}

func join(t *testing.T, d *driver.Driver, id, host string, cores uint32) *puppet {
	p := attachPuppet(t, d)
	p.send(&wire.ExecutorMessage{Register: &wire.Register{ExecutorId: id, Host: host, Cores: cores, Version: wire.Version}})
	require.NotNil(t, p.recv().GetRegistered())
	return p
}

func (p *puppet) send(message *wire.ExecutorMessage) { require.NoError(p.t, p.stream.Send(message)) }

func (p *puppet) recv() *wire.DriverMessage {
	message, err := p.stream.Recv()
	require.NoError(p.t, err)
	p.received = append(p.received, single(message)...)
	return message
}

// single splits a message's launches into launches of one attempt each.
func single(message *wire.DriverMessage) []*wire.Launch {
	var all []*wire.Launch
	for _, launch := range message.GetLaunches() {
		for i, index := range launch.GetIndexes() {
			one := proto.CloneOf(launch)
			one.Attempt, one.Indexes, one.Inputs = launch.GetAttempt()+uint64(i), []uint32{index}, [][]byte{launch.Input(i)}
			all = append(all, one)
		}
	}
	return all
}

// launches receives messages until it has received count launches, and returns these launches.
func (p *puppet) launches(count int) []*wire.Launch {
	for len(p.received) < count {
		p.recv()
	}
	launches := p.received
	p.received = nil
	require.Len(p.t, launches, count)
	return launches
}

func (p *puppet) finish(launch *wire.Launch, result string) {
	p.send(&wire.ExecutorMessage{Updates: []*wire.TaskUpdate{
		{Attempt: launch.GetAttempt(), State: wire.TaskState_TASK_STATE_FINISHED, Result: []byte(result)}}})
}

// manager is a cluster manager that records requests.
type manager struct {
	mu         sync.Mutex
	requests   []driver.Request
	at         []time.Time
	killed     []string
	registered []string
}

func (m *manager) RequestExecutors(request driver.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, request)
	m.at = append(m.at, time.Now())
}

func (m *manager) KillExecutors(ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killed = append(m.killed, ids...)
}

func (m *manager) ExecutorRegistered(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registered = append(m.registered, id)
}

func (m *manager) asked() []driver.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]driver.Request(nil), m.requests...)
}

func (m *manager) asksToKill() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.killed...)
}

// timeout limits how long tests wait for events that are immediate on an idle machine.
const timeout = 2 * time.Minute

// await polls the driver's status until wanted returns true.
func await(t *testing.T, d *driver.Driver, wanted func(driver.Status) bool) driver.Status {
	deadline := time.Now().Add(timeout)
	for {
		status := d.Status()
		if wanted(status) {
			return status
		}
		if time.Now().After(deadline) {
			require.FailNow(t, "the driver's status did not become as wanted", "%+v", status)
		}
		runtime.Gosched()
	}
}

var errTest = errors.New("the test's own cause")

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text []byte
}

func (b *lockedBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, text...)
	return len(text), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
