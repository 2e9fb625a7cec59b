package dataset_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/role"
	"github.com/bobbin-yarn/bobbin/storage"
)

// executors adds executors to a local master. The local master also has its own executor,
// which is named "driver".
type executors struct {
	t       *testing.T
	app     *role.Application
	driver  *driver.Driver
	running sync.WaitGroup
	stop    map[string]context.CancelFunc
}

// runWithMore runs the driver function f on a local master with one core. f can add
// executors with its argument more.
func runWithMore(t *testing.T, f func(ctx context.Context, session *bobbin.Session, more *executors)) {
	t.Helper()
	runWithSettings(t, nil, f)
}

func runWithSettings(t *testing.T, settings map[string]string, f func(ctx context.Context, session *bobbin.Session, more *executors)) {
	t.Helper()
	more := &executors{t: t, stop: map[string]context.CancelFunc{}}
	all := map[string]string{"master": "local[1]"}
	maps.Copy(all, settings)
	given, err := config.FromMap(all)
	require.NoError(t, err)
	require.NoError(t, role.RunLocal(t.Context(), given, func(ctx context.Context) error {
		more.app = role.FromContext(ctx)
		more.driver = more.app.Driver
		require.Eventually(t, func() bool { return more.registered() == 1 }, time.Minute, time.Millisecond)
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		f(ctx, session, more)
		return nil
	}))
	more.running.Wait()
}

func (m *executors) add(id string) {
	m.addWith(executorbackend.Options{ID: id, Host: "localhost", Cores: 1, SharesProcess: true})
}

func (m *executors) addWith(options executorbackend.Options) {
	before := m.registered()
	ctx, stop := context.WithCancel(storage.With(context.Background(), m.app.Files))
	m.stop[options.ID] = stop
	m.running.Go(func() {
		_ = m.driver.AttachLocal(ctx, func(ctx context.Context, stream wire.ExecutorSide) error {
			return executorbackend.Serve(ctx, options, stream)
		})
	})
	require.Eventually(m.t, func() bool { return m.registered() > before }, time.Minute, time.Millisecond)
}

// lose stops an executor that add has added, and waits until the driver treats it as lost.
func (m *executors) lose(id string) {
	before := m.registered()
	m.stop[id]()
	require.Eventually(m.t, func() bool { return m.registered() < before }, time.Minute, time.Millisecond)
}

func (m *executors) registered() int { return m.driver.Status().Totals.Executors }

// decommission decommissions an executor and waits for its end.
func (m *executors) decommission(id string) {
	before := m.registered()
	m.driver.Decommission([]string{id}, driver.DecommissionNotice{Reason: "the test says so"})
	require.Eventually(m.t, func() bool { return m.registered() < before }, time.Minute, time.Millisecond)
}

func TestOutputsOfDecommissionedExecutorsAreMoved(t *testing.T) {
	computed.Store(0)
	runWithMore(t, func(ctx context.Context, session *bobbin.Session, more *executors) {
		more.add("a")
		sums := countedSums.With(session, counted.With(session, numbers{100, 20}))
		collectAndCheck := func() {
			got, err := sums.Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, map[int64]int64{0: 1683, 1: 1617, 2: 1650}, toMap(got))
		}
		collectAndCheck()
		more.decommission("driver")
		collectAndCheck()
		more.add("b")
		more.decommission("a")
		collectAndCheck()
		require.EqualValues(t, 100, computed.Load())

		// If there is no other executor, a decommissioned executor does not wait for one.
		more.decommission("b")
		more.add("c")
		collectAndCheck()
		require.EqualValues(t, 200, computed.Load())
		require.EqualValues(t, 50, session.Counter(evenCount))
	})
}

func TestSimultaneousExecutorLossesCauseOneNewAttempt(t *testing.T) {
	computed.Store(0)
	runWithMore(t, func(ctx context.Context, session *bobbin.Session, more *executors) {
		more.add("a")
		more.add("b")
		sums := countedSums.With(session, counted.With(session, numbers{100, 20}))
		collectAndCheck := func() {
			got, err := sums.Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, map[int64]int64{0: 1683, 1: 1617, 2: 1650}, toMap(got))
		}
		collectAndCheck()
		more.lose("a")
		more.lose("b")
		collectAndCheck()
		attempts := 0
		for _, summary := range dataset.Summary(session) {
			if strings.Contains(summary.Name, " for Reduce ") {
				attempts++
			}
		}
		require.Equal(t, 2, attempts)
	})
}

var (
	lastTaskWaits   chan struct{} // receives an element when the last task of "slow" waits
	releaseLastTask chan struct{} // closed to let this task continue
	slowPartitions  atomic.Int64  // number of partitions that the plan "slow" has computed
	slow            = dataset.Define("slow", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, int64]] {
		waiting := dataset.MapPartitions(source(p, n), func(task *bobbin.Task, in iter.Seq[int64]) iter.Seq2[int64, error] {
			return func(yield func(int64, error) bool) {
				slowPartitions.Add(1)
				for i := range in {
					if i == int64(n.N)-1 {
						lastTaskWaits <- struct{}{}
						<-releaseLastTask
					}
					if !yield(i, nil) {
						return
					}
				}
			}
		})
		return dataset.Reduce(dataset.MapKV(waiting, func(i int64) (int64, int64) { return i % 3, i }), func(a, b int64) int64 { return a + b })
	})
)

// If an executor is decommissioned while it runs a map task, the task's output is moved
// after the task has ended.
func TestOutputOfATaskThatEndsDuringDecommissionIsMoved(t *testing.T) {
	lastTaskWaits, releaseLastTask = make(chan struct{}, 1), make(chan struct{})
	slowPartitions.Store(0)
	runWithMore(t, func(ctx context.Context, session *bobbin.Session, more *executors) {
		results := make(chan error, 1)
		go func() {
			got, err := slow.With(session, numbers{100, 4}).Collect(ctx)
			if err == nil && toMap(got)[0] != 1683 {
				err = errors.New("a wrong sum")
			}
			results <- err
		}()
		<-lastTaskWaits
		more.add("a")
		more.driver.Decommission([]string{"driver"}, driver.DecommissionNotice{Reason: "the test says so"})
		close(releaseLastTask)
		require.NoError(t, <-results)
		require.Eventually(t, func() bool { return more.registered() == 1 }, time.Minute, time.Millisecond)
		require.EqualValues(t, 4, slowPartitions.Load())
	})
}

var (
	busy        chan struct{} // closed when the executor "a" runs a task
	endBusyTask chan struct{} // closed to end this task
	occupy      = bobbin.Func("occupy", func(task *bobbin.Task, _ int) (int, error) {
		if task.ExecutorID() == "a" {
			close(busy)
			<-endBusyTask
			return 0, nil
		}
		<-busy
		return 0, nil
	})
)

// If the only other executor has no free core, the hand-over ends after
// executor.handoverTimeout.
func TestHandoverWithoutAFreeExecutorEnds(t *testing.T) {
	busy, endBusyTask = make(chan struct{}), make(chan struct{})
	computed.Store(0)
	runWithSettings(t, map[string]string{"executor.handoverTimeout": "100ms"}, func(ctx context.Context, session *bobbin.Session, more *executors) {
		sums := countedSums.With(session, counted.With(session, numbers{100, 20}))
		_, err := sums.Len(ctx)
		require.NoError(t, err)
		more.add("a")
		results := make(chan error, 1)
		go func() {
			_, err := occupy.Run(ctx, session, []int{0, 1})
			results <- err
		}()
		<-busy
		more.decommission("driver")
		close(endBusyTask)
		require.NoError(t, <-results)
		_, err = sums.Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 200, computed.Load())
	})
}

// A decommissioned executor stops even if the session closes while its data is moved.
func TestASessionClosesWhileItsDataIsMoved(t *testing.T) {
	runWithMore(t, func(ctx context.Context, session *bobbin.Session, more *executors) {
		more.add("a")
		_, err := countedSums.With(session, counted.With(session, numbers{1000, 100})).Len(ctx)
		require.NoError(t, err)
		more.driver.Decommission([]string{"driver"}, driver.DecommissionNotice{Reason: "the test says so"})
		session.Close()
		require.Eventually(t, func() bool { return more.registered() == 1 }, time.Minute, time.Millisecond)
	})
}
