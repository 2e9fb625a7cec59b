package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// clientDriver is a driver in client mode.
type clientDriver struct {
	*driver.Driver
	settings *config.Config
	manager  *Manager
	pass     *identity.Pass
	// credentials receives each version of the delegation tokens that ApplicationMasters receive.
	credentials chan string
}

func startDriver(t *testing.T, settings map[string]string) *clientDriver {
	t.Helper()
	access, err := identity.New()
	require.NoError(t, err)
	pass, err := identity.ParsePass(access.Pass())
	require.NoError(t, err)
	set, err := config.FromMap(settings)
	require.NoError(t, err)
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	d := &clientDriver{settings: set, manager: NewManager(logger), pass: pass, credentials: make(chan string, 10)}
	d.Driver, err = driver.New(driver.Options{
		Config: set, Identity: access, BindAddress: "127.0.0.1:0", Manager: d.manager, Services: d.manager.Register, Logger: logger,
		Events: events.NewRecorder(events.LiveLimits),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, d.Stop(context.Background()))
		d.Events().Close()
	})
	return d
}

// cutter opens connections that the test can break.
type cutter struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (c *cutter) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

func (c *cutter) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// orders is a driver.ClusterManager that sends each of its calls to a channel.
type orders struct{ calls chan any }

func (o *orders) RequestExecutors(request driver.Request) { o.calls <- request }
func (o *orders) KillExecutors(ids []string)              { o.calls <- ids }
func (o *orders) ExecutorRegistered(id string)            { o.calls <- id }

func newOrders() *orders { return &orders{calls: make(chan any, 100)} }

// next waits for the next order of type T and returns it. It discards other orders.
func next[T any](o *orders) T {
	for {
		if order, ok := (<-o.calls).(T); ok {
			return order
		}
	}
}

// join connects an ApplicationMaster to the driver.
func (d *clientDriver) join(t *testing.T, attempt uint32, dial func(context.Context, string) (net.Conn, error)) (*Driver, *orders, int) {
	t.Helper()
	r := newDriver(dialer{
		address: d.Addr(), pass: d.pass, ping: time.Minute, dial: dial,
		hello: &wire.ManagerHello{Version: wire.Version, Attempt: attempt, Host: "node"},
	}, config.AMTreatDisconnectAsFailed.In(d.settings), slog.New(slog.NewTextHandler(t.Output(), nil)))
	r.ReceiveCredentials(func(content []byte) error {
		d.credentials <- string(content)
		return nil
	})
	told := newOrders()
	r.SetManager(told)
	id, err := r.Join(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Stop(context.Background())) })
	return r, told, id
}

// execute runs an executor of the driver until the test calls end.
func (d *clientDriver) execute(t *testing.T, id string) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		_ = d.AttachLocal(ctx, func(ctx context.Context, stream wire.ExecutorSide) error {
			return executorbackend.Serve(ctx, executorbackend.Options{ID: id, Host: "host" + id, Cores: 1}, stream)
		})
	})
	end = func() { cancel(); running.Wait() }
	t.Cleanup(end)
	return end
}

// awaitStatus repeatedly requests the driver's status from r, until wanted returns true.
func awaitStatus(t *testing.T, r *Driver, wanted func(driver.Status) bool) driver.Status {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		status := r.Status()
		if wanted(status) {
			return status
		}
		require.True(t, time.Now().Before(deadline), "%+v", status)
	}
}

func lossOf(status driver.Status, id string) string {
	for _, executor := range status.Executors {
		if executor.ID == id {
			return executor.LossReason
		}
	}
	return ""
}

func TestDriverAndManagerExchangeMessages(t *testing.T) {
	d := startDriver(t, map[string]string{"executor.instances": "3", "executor.memory": "2g"})
	r, told, id := d.join(t, 1, (&cutter{}).dial)
	require.Equal(t, 1, id)
	request := next[driver.Request](told)
	require.Equal(t, 3, request.Total())
	require.Equal(t, 2*config.GiB, request.Demands[0].Profile.Memory)

	d.execute(t, "1")
	d.execute(t, "2")
	calls := []string{next[string](told), next[string](told)}
	slices.Sort(calls)
	require.Equal(t, []string{"1", "2"}, calls)
	r.ExecutorLost("1", driver.Loss{Reason: "was preempted \xff"})
	status := awaitStatus(t, r, func(s driver.Status) bool { return s.Totals.Executors == 1 })
	require.Equal(t, "was preempted \uFFFD", lossOf(status, "1"))

	// An idle executor stops at once and is reported as lost.
	r.Decommission([]string{"2"}, driver.DecommissionNotice{Reason: "its node goes", Deadline: time.Now().Add(time.Hour)})
	status = awaitStatus(t, r, func(s driver.Status) bool { return s.Totals.Executors == 0 })
	require.Contains(t, lossOf(status, "2"), "its node goes")
}

func TestDriverEndsTheApplication(t *testing.T) {
	for name, failure := range map[string]error{"success": nil, "failure": errors.New("the moon \xff")} {
		t.Run(name, func(t *testing.T) {
			d := startDriver(t, nil)
			finished := make(chan error, 1)
			go func() { finished <- d.manager.Finish(t.Context(), failure) }() // may run before or after the ApplicationMaster connects
			r, _, _ := d.join(t, 1, (&cutter{}).dial)
			err := r.Run(t.Context())
			if failure == nil {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, "the moon \uFFFD")
			}
			select {
			case <-finished:
				require.Fail(t, "the ApplicationMaster still launches executors")
			default:
			}
			stopped := make(chan error, 1)
			go func() { stopped <- r.Stop(t.Context()) }()
			require.NoError(t, <-finished)
			require.NoError(t, d.Stop(t.Context()))
			require.NoError(t, <-stopped, "it waits for the executors to leave")
		})
	}
}

func TestFinishWaitsForAnApplicationMaster(t *testing.T) {
	d := startDriver(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	killed := errors.New("the application was killed")
	cancel(killed)
	require.ErrorIs(t, d.manager.Finish(ctx, nil), killed)
}

func TestALostDriverEndsItsApplicationMasterAtOnce(t *testing.T) {
	d := startDriver(t, nil)
	address := d.Addr()
	r, _, _ := d.join(t, 1, (&cutter{}).dial)
	require.NoError(t, d.Stop(t.Context()))
	err := r.Run(t.Context())
	require.ErrorContains(t, err, "the driver on "+address+" is gone")
	require.ErrorIs(t, errors.Unwrap(err), syscall.ECONNREFUSED)
}

func TestALostDriverMayCountAsSuccess(t *testing.T) {
	d := startDriver(t, map[string]string{"yarn.am.clientModeTreatDisconnectAsFailed": "false"})
	r, _, _ := d.join(t, 1, (&cutter{}).dial)
	require.NoError(t, d.Stop(t.Context()))
	require.NoError(t, r.Run(t.Context()))
}

func TestABrokenConnectionIsRestored(t *testing.T) {
	d := startDriver(t, map[string]string{"executor.instances": "2"})
	wire := &cutter{}
	r, told, _ := d.join(t, 1, wire.dial)
	d.execute(t, "1")
	d.execute(t, "2")
	next[string](told)
	next[string](told)
	for _, id := range []string{"1", "2"} {
		wire.cut()
		r.ExecutorLost(id, driver.Loss{Reason: "went, told while the connection was broken"})
		status := awaitStatus(t, r, func(s driver.Status) bool { return lossOf(s, id) != "" })
		require.Contains(t, lossOf(status, id), "went, told while")
	}
	require.Equal(t, 2, next[driver.Request](told).Total(), "it is told again what is wanted")
}

func TestCredentialsReachEveryApplicationMaster(t *testing.T) {
	d := startDriver(t, nil)
	d.manager.SetCredentials([]byte("one"))
	first := &cutter{}
	d.join(t, 1, first.dial)
	require.Equal(t, "one", <-d.credentials)
	d.manager.SetCredentials([]byte("two"))
	require.Equal(t, "two", <-d.credentials)
	first.cut()
	require.Equal(t, "two", <-d.credentials, "on the new connection")
	d.join(t, 2, (&cutter{}).dial)
	require.Equal(t, "two", <-d.credentials, "in the next attempt")
}

func TestTheNextAttemptContinues(t *testing.T) {
	d := startDriver(t, map[string]string{"executor.instances": "2"})
	first := &cutter{}
	r, told, _ := d.join(t, 1, first.dial)
	d.execute(t, "1")
	next[string](told)

	again, toldAgain, id := d.join(t, 2, (&cutter{}).dial)
	require.Greater(t, id, 3, "the earlier attempt may have launched as many as were asked for")
	require.Equal(t, 2, next[driver.Request](toldAgain).Total())
	status := awaitStatus(t, again, func(s driver.Status) bool { return s.Totals.Executors == 0 })
	require.Contains(t, lossOf(status, "1"), "ended by YARN with the ApplicationMaster")

	// The driver rejects the earlier attempt.
	err := r.Run(t.Context())
	require.ErrorContains(t, err, "attempt 2 of the application has taken the place of attempt 1")
}

var _ = register("until another executor has it", func(ctx context.Context, call function.Call) ([]byte, error) {
	if call.ExecutorID == "1" {
		<-ctx.Done()
	}
	return nil, context.Cause(ctx)
})

func register(name string, f function.Body) struct{} {
	function.Register(name, f)
	return struct{}{}
}

func TestExecutorsThatEndWithTheirApplicationMasterHaveNotFailed(t *testing.T) {
	d := startDriver(t, map[string]string{"executor.instances": "1", "task.maxFailures": "1"})
	r, told, id := d.join(t, 1, (&cutter{}).dial)
	end := d.execute(t, "1")
	next[string](told)
	result := make(chan error, 1)
	go func() {
		for _, err := range d.Run(t.Context(), driver.TaskSet{Name: "j", Function: "until another executor has it", Tasks: []driver.Task{{}}, CPUs: 1, MaxFailures: 1}) {
			result <- err
		}
	}()
	awaitStatus(t, r, func(s driver.Status) bool { return s.Totals.Running == 1 })
	end() // the executor disconnects before any reason for its loss is reported

	again, toldAgain, next2 := d.join(t, 2, (&cutter{}).dial)
	require.Greater(t, next2, id)
	awaitStatus(t, again, func(s driver.Status) bool { return s.Totals.Executors == 0 })
	d.execute(t, "9")
	next[string](toldAgain)
	require.NoError(t, <-result, "one failure would have been too many")
}

func TestDriverRefusesOtherVersions(t *testing.T) {
	d := startDriver(t, nil)
	dialled := &cutter{}
	_, err := dialer{
		address: d.Addr(), pass: d.pass, ping: time.Minute, dial: dialled.dial,
		hello: &wire.ManagerHello{Version: wire.Version + 1, Attempt: 1},
	}.reach(t.Context())
	require.ErrorContains(t, err, "both must be of the same binary")
	require.Len(t, dialled.conns, 1, "it is not asked again")
}

func TestAMachineThatDoesNotAnswerIsRetried(t *testing.T) {
	access, err := identity.New()
	require.NoError(t, err)
	pass, err := identity.ParsePass(access.Pass())
	require.NoError(t, err)
	for _, test := range []struct {
		err     error
		givenUp time.Duration
	}{
		{syscall.EHOSTUNREACH, reachTimeout},
		{syscall.ECONNREFUSED, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := dialer{
				address: "driver:1", pass: pass, ping: time.Minute, hello: &wire.ManagerHello{},
				dial: func(context.Context, string) (net.Conn, error) { return nil, &net.OpError{Op: "dial", Err: test.err} },
			}.reach(t.Context())
			var gone *DisconnectedError
			require.ErrorAs(t, err, &gone)
			require.ErrorIs(t, gone.cause, test.err)
			require.InDelta(t, test.givenUp, time.Since(began), float64(time.Second))
		})
	}
}

// TestEventsAndStateCrossTheLink checks that the driver records the events that the
// ApplicationMaster sends, and that the ApplicationMaster receives the driver's state.
func TestEventsAndStateCrossTheLink(t *testing.T) {
	d := startDriver(t, nil)
	r, _, _ := d.join(t, 1, (&cutter{}).dial)
	r.Record(&events.ExecutorAllocated{Time: events.At(time.Unix(5, 0)), ID: "4", Host: "h", Container: "c"})
	d.Events().Record(&events.TaskSetSubmitted{Time: events.At(time.Unix(6, 0).UTC()), Set: 3, Job: 3, Name: "count", Tasks: 8})
	var state *events.Snapshot
	require.Eventually(t, func() bool {
		state = r.Snapshot()
		return state != nil && len(state.Executors) == 1 && len(state.Jobs) == 1
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, "h", state.Executors[0].Host)
	require.Equal(t, events.ExecutorStateAllocated, state.Executors[0].State)
	require.Equal(t, "count", state.Job(3).Sets[0].Name)
	require.Contains(t, state.Recent, events.Event(&events.TaskSetSubmitted{Time: events.At(time.Unix(6, 0).UTC()), Set: 3, Job: 3, Name: "count", Tasks: 8}))
	require.Empty(t, slices.Collect(state.Attempts()), "single tasks stay where they are")
	require.Same(t, state, r.Snapshot(), "it is reused")
}

func TestDamagedEventsAndSnapshots(t *testing.T) {
	for _, encoded := range []string{"", "{", `{"type":"jobs"}`, `{"type":"jobEnded"}`, `{"type":"jobEnded","event":[]}`, "null"} {
		_, err := decodeEvent([]byte(encoded))
		require.Error(t, err, encoded)
	}
	compressed := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text))
		require.NoError(t, w.Close())
		return b.Bytes()
	}
	for _, encoded := range [][]byte{nil, []byte("{}"), compressed(""), compressed("{}"), compressed(`{"state":{"jobs":[null]}}`), compressed(`{"state":{},"recent":[{}]}`)} {
		_, err := decodeSnapshot(encoded)
		require.Error(t, err, string(encoded))
	}
}
