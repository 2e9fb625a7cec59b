package scheduler

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Unix(1_000_000, 0)

// script passes events to a scheduler. It represents a launch as the text
// "set/index@executor:locality".
type script struct {
	*testing.T
	*Scheduler
	launched map[string]Launch // the latest attempt of each task, by "set/index"
}

func play(t *testing.T, config Config, executors ...Executor) *script {
	s := &script{t, New(config), map[string]Launch{}}
	for _, e := range executors {
		require.NoError(t, s.AddExecutor(e))
	}
	return s
}

// at makes an offer at a time after the start and checks what it launches.
func (s *script) at(after time.Duration, expected ...string) {
	s.Helper()
	var names []string
	for _, l := range launched(s.Scheduler, start.Add(after)) {
		names = append(names, fmt.Sprintf("%d/%d@%s:%s", l.TaskSet, l.Index, l.Executor, l.Locality))
		s.launched[fmt.Sprintf("%d/%d", l.TaskSet, l.Index)] = l
	}
	require.Equal(s, expected, names)
}

// launched returns the launches of an offer.
func launched(s *Scheduler, now time.Time) []Launch {
	launches, _ := s.Offer(now)
	return launches
}

// end ends the latest attempt of a task, named "set/index".
func (s *script) end(task string, outcome Outcome) []Event {
	s.Helper()
	l, ok := s.launched[task]
	require.True(s, ok, "task %s was not launched", task)
	return s.Finished(l.Attempt, outcome)
}

func (s *script) submit(set TaskSet) {
	s.Helper()
	if s.config.Exclusion.Enabled {
		set.MaxFailures = cmp.Or(set.MaxFailures, 9)
	}
	require.NoError(s, s.Submit(set))
}

// on returns preferences for one host for each task; "" means no preference.
func on(hosts ...string) func(int) Preferences {
	return func(index int) Preferences {
		if hosts[index] == "" {
			return Preferences{}
		}
		return Preferences{Hosts: []string{hosts[index]}}
	}
}

var (
	failed  = Outcome{Result: ResultFailed, Reason: "broken", CountsAsFailure: true}
	success = Outcome{Result: ResultSucceeded}
)

func TestSetsAreServedInOrder(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 3})
	s.submit(TaskSet{ID: 7, Tasks: 2})
	s.submit(TaskSet{ID: 3, Tasks: 2})
	s.at(0, "7/0@a:no-pref", "7/1@a:no-pref", "3/0@a:no-pref")
	s.end("3/0", failed)
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0, "3/0@a:no-pref")
	s.end("7/0", failed)
	s.at(0, "7/0@a:no-pref")
	s.end("7/0", success)
	s.end("7/1", success)
	s.at(0, "3/1@a:no-pref", "1/0@a:no-pref")
}

func TestLaterSetsTakeCoresThatEarlierSetsCannotUse(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 3})
	s.submit(TaskSet{ID: 1, Tasks: 2, CPUs: 2})
	s.submit(TaskSet{ID: 2, Tasks: 2, CPUs: 1})
	s.at(0, "1/0@a:no-pref", "2/0@a:no-pref")
	s.end("1/0", success)
	s.at(0, "1/1@a:no-pref")
}

func TestTasksSpreadOverExecutors(t *testing.T) {
	s := play(t, Config{},
		Executor{ID: "a", Host: "A", Cores: 2}, Executor{ID: "b", Host: "A", Cores: 2}, Executor{ID: "c", Host: "C", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 3})
	s.at(0, "1/0@a:no-pref", "1/1@b:no-pref", "1/2@c:no-pref")
	s.submit(TaskSet{ID: 2, Tasks: 2})
	s.at(0, "2/0@a:no-pref", "2/1@b:no-pref")
	s.end("1/2", success)
	s.end("1/0", success)
	s.submit(TaskSet{ID: 3, Tasks: 4})
	s.at(0, "3/0@c:no-pref", "3/1@a:no-pref", "3/2@c:no-pref")

	for _, executors := range []int{2, 20} { // fewer executors than preferred locations with tasks, and more
		s := play(t, Config{})
		for i := range executors {
			require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: fmt.Sprint("host", i/2), Cores: 4}))
		}
		s.submit(TaskSet{ID: 1, Tasks: 6, Preferences: on("host0", "host0", "host0", "host0", "host0", "host0")})
		s.at(0, "1/0@0:node-local", "1/1@1:node-local", "1/2@0:node-local", "1/3@1:node-local", "1/4@0:node-local", "1/5@1:node-local")
	}
}

func TestSetIsDoneWithLastResult(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Name: "count", Tasks: 2})
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref")
	require.Equal(t, []Event{TaskDone{TaskSet: 1, Index: 1, Attempt: 2}}, s.end("1/1", success))
	require.Empty(t, s.end("1/1", success), "an attempt ends once")
	require.Equal(t, []Event{
		TaskDone{TaskSet: 1, Index: 0, Attempt: 1},
		TaskSetDone{TaskSet: 1},
	}, s.end("1/0", success))
	s.submit(TaskSet{ID: 1, Name: "the id is free again", Tasks: 1})
}

func TestExecutorLoss(t *testing.T) {
	for _, counts := range []bool{false, true} {
		t.Run(fmt.Sprintf("counts=%t", counts), func(t *testing.T) {
			s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2}, Executor{ID: "b", Host: "B", Cores: 1})
			s.submit(TaskSet{ID: 1, Tasks: 3, MaxFailures: 2})
			s.at(0, "1/0@a:no-pref", "1/1@b:no-pref", "1/2@a:no-pref")
			failures := 0
			if counts {
				failures = 1
			}
			require.Equal(t, []Event{
				AttemptEnded{TaskSet: 1, Index: 0, Attempt: 1, Failures: failures, Reason: "lost"},
				AttemptEnded{TaskSet: 1, Index: 2, Attempt: 3, Failures: failures, Reason: "lost"},
			}, s.RemoveExecutor("a", Loss{Reason: "lost", CountsAsFailure: counts}))
			require.Empty(t, s.RemoveExecutor("a", Loss{}), "it is gone")
			require.Empty(t, s.end("1/0", success), "what it sent before comes late")
			s.at(0)
			require.NoError(t, s.AddExecutor(Executor{ID: "a", Host: "A", Cores: 2}))
			if counts {
				s.at(0) // the tasks avoid host A while B has an executor
				s.RemoveExecutor("b", Loss{Reason: "lost", CountsAsFailure: counts})
				s.at(0, "1/0@a:no-pref", "1/2@a:no-pref")
				require.IsType(t, TaskSetFailed{}, s.RemoveExecutor("a", Loss{CountsAsFailure: true})[0])
				return
			}
			s.at(0, "1/0@a:no-pref", "1/2@a:no-pref")
		})
	}
}

func TestDecommissioningExecutorFinishesItsTasks(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0, "1/0@a:no-pref")
	s.DecommissionExecutor("a")
	s.submit(TaskSet{ID: 2, Tasks: 1})
	s.at(0)
	require.Len(t, s.end("1/0", success), 2)
	s.at(0)
	require.Equal(t, []ExecutorStatus{{Executor: Executor{ID: "a", Host: "A", Cores: 2}, FreeCores: 2, Decommissioning: true}}, s.Snapshot().Executors)
	require.Empty(t, s.RemoveExecutor("a", Loss{}))
	require.Empty(t, s.Snapshot().Executors)
}

func TestCancel(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 3, Preferences: on("A", "A", "B")})
	s.at(0, "1/0@a:node-local", "1/1@a:node-local")
	require.Equal(t, []Event{
		KillAttempt{Attempt: 1, Executor: "a", Reason: "changed my mind"},
		KillAttempt{Attempt: 2, Executor: "a", Reason: "changed my mind"},
	}, s.Cancel(1, "changed my mind"))
	require.Empty(t, s.Cancel(1, "again"))
	require.Equal(t, Demand{RunningTasks: 2, RunningCPUs: 2}, s.Demand())
	require.Empty(t, s.PreferredHosts())
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0)
	require.Empty(t, s.end("1/0", Outcome{Result: ResultKilled}))
	s.at(0, "1/0@a:no-pref")
}

func TestDemand(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 3})
	s.submit(TaskSet{ID: 1, Tasks: 3, CPUs: 2, Preferences: func(int) Preferences { return Preferences{Hosts: []string{"A", "B", "A"}} }})
	require.Equal(t, Demand{WaitingTasks: 3, WaitingCPUs: 6, TasksWithPreferences: 3}, s.Demand())
	require.Equal(t, map[string]int{"A": 3, "B": 3}, s.PreferredHosts())
	s.at(0, "1/0@a:node-local")
	require.Equal(t, Demand{WaitingTasks: 2, WaitingCPUs: 4, RunningTasks: 1, RunningCPUs: 2, TasksWithPreferences: 2}, s.Demand())
	require.Equal(t, map[string]int{"A": 2, "B": 2}, s.PreferredHosts())
}

func TestInvalidInputIsRefused(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 1})
	s.submit(TaskSet{ID: 1, Name: "first", Tasks: 1})
	for _, test := range []struct {
		err      error
		expected string
	}{
		{s.AddExecutor(Executor{Host: "B", Cores: 1}), `executor on host "B": it has no id`},
		{s.AddExecutor(Executor{ID: "b", Cores: 1}), `executor b: it has no host`},
		{s.AddExecutor(Executor{ID: "b", Host: "B"}), `executor b on host B: it has 0 cores, which must be 1 to 65536`},
		{s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 65537}), `executor b on host B: it has 65537 cores, which must be 1 to 65536`},
		{s.AddExecutor(Executor{ID: "a", Host: "B", Cores: 1}), `executor a on host B: one with this id is there already, on host A`},
		{s.Submit(TaskSet{ID: 1, Name: "second", Tasks: 1}), `task set 1 (second): one with this id, "first", has not ended`},
		{s.Submit(TaskSet{ID: 2, Name: "x"}), `task set 2 (x): it has 0 tasks, which must be 1 to 2147483647`},
		{s.Submit(TaskSet{ID: 2, Name: "x", Tasks: 1, CPUs: -1}), `task set 2 (x): its tasks take -1 cores each, which must not be negative`},
		{s.Submit(TaskSet{ID: 2, Name: "x", Tasks: 1, MaxFailures: -1}), `task set 2 (x): its tasks may fail -1 times, which must not be negative`},
	} {
		require.EqualError(t, test.err, test.expected)
	}
}
