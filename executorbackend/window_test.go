package executorbackend

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func queued(attempt uint64, input string) *wire.Launch {
	l := launch(attempt, input)
	l.Queued = true
	return l
}

func TestWindowIsAMillisecondOfWork(t *testing.T) {
	var p taskDurations
	window := func(set uint64, took time.Duration, cores int) int {
		w := p.addAndWindow(&task{set: &taskSet{id: set}, cpus: 1}, took, cores)
		require.Equal(t, set, w.GetTaskSet())
		return int(w.GetTasks())
	}
	require.Equal(t, 200, window(1, 10*time.Microsecond, 2))
	require.Equal(t, 2*maxWindow, window(2, time.Nanosecond, 2), "the limit")
	require.Equal(t, 2*maxWindow, window(3, 0, 2), "a coarse clock")
	require.Zero(t, window(4, time.Second, 2), "another set is measured anew")
	require.Equal(t, 100, window(5, 10*time.Microsecond, 1))
	require.Zero(t, window(5, time.Second, 1), "a long one closes it")
	for range 32 * averagedTasks {
		window(5, 10*time.Microsecond, 1)
	}
	require.InDelta(t, 100, window(5, 10*time.Microsecond, 1), 1)
}

func TestQueuedTasksAreRecalledWhenNoneStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		began := time.Now()
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: []*wire.Launch{
			launch(1, "1s"), queued(2, "1s"), launch(3, "1s"), queued(4, "1s"),
		}})
		recalled := s.together()
		require.Equal(t, stallTimeout, time.Since(began), "after the last start")
		require.Len(t, recalled, 2)
		for i, update := range recalled {
			require.Equal(t, wire.TaskState_TASK_STATE_RECALLED, update.GetState())
			require.Equal(t, uint64(2+2*i), update.GetAttempt())
		}
		for _, attempt := range []uint64{1, 3} {
			update := s.update()
			require.Equal(t, attempt, update.GetAttempt())
			require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, update.GetState())
		}
		require.Equal(t, 2*time.Second, time.Since(began))
		s.stop()
	})
}

func TestQueuedTasksStayWhileTasksStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		launches := []*wire.Launch{launch(1, "60ms")}
		for attempt := range uint64(9) {
			launches = append(launches, queued(2+attempt, "60ms"))
		}
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: append(launches, queued(11, "1s"), queued(12, "1s"))})
		for attempt := range uint64(10) {
			update := s.update()
			require.Equal(t, 1+attempt, update.GetAttempt())
			require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, update.GetState())
		}
		update := s.update()
		require.Equal(t, uint64(12), update.GetAttempt(), "the one before it runs on")
		require.Equal(t, wire.TaskState_TASK_STATE_RECALLED, update.GetState())
		require.Equal(t, uint64(11), s.update().GetAttempt())
		s.stop()
	})
}

func TestDriverRecallsQueuedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: []*wire.Launch{
			launch(1, "50ms"), queued(2, "50ms"), queued(3, "50ms"), queued(4, "50ms"),
		}})
		for attempt := range uint64(2) {
			require.Equal(t, 1+attempt, s.update().GetAttempt())
		}
		s.send(&wire.DriverMessage{Recall: true, Launches: []*wire.Launch{launch(5, "50ms")}})
		recalled := s.update()
		require.Equal(t, uint64(4), recalled.GetAttempt(), "the third has started")
		require.Equal(t, wire.TaskState_TASK_STATE_RECALLED, recalled.GetState())
		for _, attempt := range []uint64{3, 5} {
			finished := s.update()
			require.Equal(t, attempt, finished.GetAttempt())
			require.Equal(t, wire.TaskState_TASK_STATE_FINISHED, finished.GetState())
		}
		s.stop()
	})
}

func TestKillOfAQueuedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		s.send(&wire.DriverMessage{TaskSets: sets("wait"), Launches: []*wire.Launch{launch(1, ""), queued(2, "")}})
		s.send(&wire.DriverMessage{Kills: []*wire.KillTask{{Attempt: 2, Reason: "enough"}}})
		update := s.update()
		require.Equal(t, wire.TaskState_TASK_STATE_KILLED, update.GetState())
		require.Equal(t, uint64(2), update.GetAttempt())
		s.stop()
	})
}

// A task that is launched without Launch.Queued starts before queued tasks, because the driver
// has reserved a core for it.
func TestTaskThatIsNotQueuedStartsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: []*wire.Launch{launch(1, "10ms"), queued(2, "10ms"), launch(3, "10ms")}})
		for _, attempt := range []uint64{1, 3, 2} {
			require.Equal(t, attempt, s.update().GetAttempt())
		}
		s.stop()
	})
}

func TestRunTimeExcludesABlockedSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Options{ID: "1", Host: "node", Cores: 1})
		s.send(&wire.DriverMessage{TaskSets: sets("sleep"), Launches: []*wire.Launch{launch(1, "1ms"), launch(2, "1ms"), launch(3, "1ms")}})
		time.Sleep(time.Second) // for one second, the driver receives nothing
		for range 3 {
			require.EqualValues(t, time.Millisecond, s.update().GetMetrics().GetRunNanos())
		}
		s.stop()
	})
}

// If the timer of delayed updates expires while a message is being sent, it has no effect. Later
// calls of report must start a new timer.
func TestReportsAreSentInTimeAfterABlockedSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, unblock := make(chan int), make(chan struct{})
		o := &outbox{}
		o.send = func(message *wire.ExecutorMessage) error {
			<-unblock
			sent <- len(updatesOf(message))
			return nil
		}
		update := func() *wire.TaskUpdate { return killedUpdate(1, "") }
		go o.put(update())
		synctest.Wait()
		o.report(nil, true, update())
		time.Sleep(2 * reportDelay)
		close(unblock)
		require.Equal(t, 1, <-sent)
		require.Equal(t, 1, <-sent)
		synctest.Wait()
		began := time.Now()
		o.report(nil, true, update())
		require.Equal(t, 1, <-sent)
		require.Equal(t, reportDelay, time.Since(began))
	})
}
