package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

func TestBarrierSetLaunchesAllTasksOrNone(t *testing.T) {
	s := play(t, Config{LocalityWaitNode: time.Hour}, Executor{ID: "a", Host: "A", Cores: 2}, Executor{ID: "b", Host: "B", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0, "1/0@a:no-pref")
	s.submit(TaskSet{ID: 2, Tasks: 4, Barrier: true, Preferences: on("A", "B", "A", "A")})
	s.submit(TaskSet{ID: 3, Tasks: 1})
	s.at(0, "3/0@b:no-pref") // other sets are still launched
	s.end("1/0", success)
	s.at(0)
	s.end("3/0", success)
	s.at(0, "2/0@a:node-local", "2/1@b:node-local", "2/2@a:node-local", "2/3@b:any")
	for _, task := range []string{"2/0", "2/1", "2/2"} {
		require.Empty(t, s.end(task, success))
	}
	require.Equal(t, 3, s.Snapshot().TaskSets[0].Done)
	events := s.end("2/3", success)
	require.Len(t, events, 5)
	require.Equal(t, TaskDone{TaskSet: 2, Index: 0, Attempt: 3}, events[0])
	require.IsType(t, TaskSetDone{}, events[4])
}

func TestBarrierSetRetriesAllTasks(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 3})
	s.submit(TaskSet{ID: 1, Name: "gang", Tasks: 3, Barrier: true, MaxFailures: 2})
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref", "1/2@a:no-pref")
	require.Empty(t, s.end("1/0", success))
	const reason = "all tasks of the barrier set gang are tried again: task 2 has no result: broken"
	require.Equal(t, []Event{
		AttemptEnded{TaskSet: 1, Index: 2, Attempt: 3, Failures: 1, Reason: "broken"},
		AttemptEnded{TaskSet: 1, Index: 0, Attempt: 1, Reason: reason},
		KillAttempt{Attempt: 2, Executor: "a", Reason: reason},
	}, s.end("1/2", failed))
	s.at(0)
	require.Equal(t, []Event{AttemptEnded{TaskSet: 1, Index: 1, Attempt: 2, Reason: "its barrier set is tried again"}}, s.end("1/1", success))
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref", "1/2@a:no-pref")
	require.Equal(t, 1, s.launched["1/0"].Number)
	require.Len(t, s.RemoveExecutor("a", Loss{Reason: "preempted"}), 3)
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 3}))
	s.at(0, "1/0@b:no-pref", "1/1@b:no-pref", "1/2@b:no-pref")
	events := s.end("1/2", failed)
	require.IsType(t, TaskSetFailed{}, events[0])
	require.Len(t, events, 3)
}

func TestCoresAreReservedForBarrierSet(t *testing.T) {
	for _, mode := range []pool.Mode{pool.FIFO, pool.FAIR} {
		s := play(t, Config{Mode: mode, BarrierReserveDelay: time.Minute}, Executor{ID: "a", Host: "A", Cores: 2})
		s.submit(TaskSet{ID: 1, Tasks: 1})
		s.at(0, "1/0@a:no-pref")
		s.submit(TaskSet{ID: 2, Tasks: 2, Barrier: true, Pool: "gang"})
		s.submit(TaskSet{ID: 3, Tasks: 9})
		s.at(0, "3/0@a:no-pref")
		s.end("3/0", success)
		s.at(time.Minute-1, "3/1@a:no-pref")
		s.end("3/1", success)
		s.at(time.Minute) // the free core is reserved for set 2
		s.end("1/0", success)
		s.at(time.Minute, "2/0@a:no-pref", "2/1@a:no-pref")
		s.end("2/0", success)
		s.at(time.Minute, "3/2@a:no-pref")
	}
}

func TestBarrierSetWithTooManyTasksIsAborted(t *testing.T) {
	s := play(t, Config{BarrierTimeout: time.Minute}, Executor{ID: "a", Host: "A", Cores: 3})
	s.submit(TaskSet{ID: 1, Name: "gang", Tasks: 2, CPUs: 2, Barrier: true})
	s.submit(TaskSet{ID: 2, Tasks: 9})
	s.ExpectExecutors(true)
	require.Empty(t, s.Advance(start))
	s.ExpectExecutors(false)
	const reason = "the 2 tasks of barrier set gang must run at once, and the executors that there are run 1 of them"
	require.Equal(t, []Event{TaskSetUnschedulable{TaskSet: 1, Index: -1, Reason: reason, Until: start.Add(time.Minute)}}, s.Advance(start))
	require.Empty(t, s.Advance(start.Add(1)))
	deadline, ok := s.NextDeadline()
	require.True(t, ok)
	require.Equal(t, start.Add(time.Minute), deadline)
	s.at(2*time.Minute-1, "2/0@a:no-pref", "2/1@a:no-pref", "2/2@a:no-pref") // no core is reserved for set 1
	require.Equal(t, []Event{TaskSetAborted{TaskSet: 1, Reason: reason + ", and no other came within 1m0s"}}, s.Advance(deadline))
	_, ok = s.NextDeadline()
	require.False(t, ok)
}

// Both pools use equally many cores, so that the first pool always gets a free core first.
// The barrier set in the other pool must nevertheless get its cores.
func TestBarrierSetIsNotStarvedByOtherPools(t *testing.T) {
	s := play(t, Config{Mode: pool.FAIR, BarrierReserveDelay: time.Minute}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 100, Pool: "first"})
	s.submit(TaskSet{ID: 2, Tasks: 2, Barrier: true, Pool: "gang"})
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref")
	s.end("1/0", success)
	s.at(0, "1/2@a:no-pref")
	s.end("1/1", success)
	s.at(time.Minute)
	s.end("1/2", success)
	s.at(time.Minute, "2/0@a:no-pref", "2/1@a:no-pref")
	s.end("2/0", success)
	s.at(time.Minute, "1/3@a:no-pref")
}
