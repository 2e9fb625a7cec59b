package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
)

func excluding(x exclusion.Rules) Config {
	x.Enabled = true
	return Config{Exclusion: x}
}

func TestTaskIsNotRetriedWhereItFailed(t *testing.T) {
	s := play(t, excluding(exclusion.Rules{}), Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "a2", Host: "A", Cores: 1},
		Executor{ID: "a3", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.at(0, "1/0@a:no-pref")
	s.end("1/0", failed)
	s.at(0, "1/0@a2:no-pref")
	s.end("1/0", failed)
	s.at(0, "1/0@b:no-pref") // two failures exclude the node
	s.end("1/0", Outcome{Result: ResultFailed, Reason: "not its fault"})
	s.at(0, "1/0@b:no-pref")
}

func TestExclusionForSet(t *testing.T) {
	s := play(t, excluding(exclusion.Rules{}), Executor{ID: "a", Host: "A", Cores: 2}, Executor{ID: "a2", Host: "A", Cores: 2},
		Executor{ID: "a3", Host: "A", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 9})
	s.at(0, "1/0@a:no-pref", "1/1@a2:no-pref", "1/2@a3:no-pref", "1/3@a:no-pref", "1/4@a2:no-pref")
	require.Len(t, s.end("1/0", failed), 1)
	require.Equal(t, []Event{
		Excluded{TaskSet: 1, Executor: "a", Host: "A", Failures: 2},
		AttemptEnded{TaskSet: 1, Index: 3, Attempt: 4, Failures: 1, Reason: "broken"},
	}, s.end("1/3", failed))
	s.at(0)
	s.end("1/1", failed)
	require.Equal(t, []Event{
		Excluded{TaskSet: 1, Executor: "a2", Host: "A", Failures: 2},
		Excluded{TaskSet: 1, Host: "A", Failures: 2},
		AttemptEnded{TaskSet: 1, Index: 4, Attempt: 5, Failures: 1, Reason: "broken"},
	}, s.end("1/4", failed))
	s.end("1/2", success)
	s.at(0)
	s.submit(TaskSet{ID: 2, Tasks: 1}) // other sets still use the executors
	s.at(0, "2/0@a:no-pref")
	require.Empty(t, s.ExcludedNodes())
}

// failOnce runs a set whose tasks each fail once, on the executors with free cores, and then
// succeed on another executor.
func (s *script) failOnce(id uint64, failures int) []Event {
	s.Helper()
	s.submit(TaskSet{ID: id, Tasks: failures})
	bad := launched(s.Scheduler, start)
	require.Len(s, bad, failures)
	for _, l := range bad {
		s.Finished(l.Attempt, failed)
	}
	require.NoError(s, s.AddExecutor(Executor{ID: "good", Host: "G", Cores: failures}))
	var events []Event
	for _, l := range launched(s.Scheduler, start) {
		require.Equal(s, "good", l.Executor)
		for _, event := range s.Finished(l.Attempt, success) {
			if _, done := event.(TaskDone); !done {
				events = append(events, event)
			}
		}
	}
	s.RemoveExecutor("good", Loss{})
	return events[:len(events)-1]
}

func TestExclusionForApplicationEnds(t *testing.T) {
	s := play(t, excluding(exclusion.Rules{Timeout: time.Minute, KillExcluded: true}),
		Executor{ID: "a", Host: "A", Cores: 2}, Executor{ID: "a2", Host: "A", Cores: 2})
	until := start.Add(time.Minute)
	const reason = "excluded for the application: too many tasks failed on host A"
	require.Equal(t, []Event{
		Excluded{Application: true, Executor: "a", Host: "A", Failures: 2, Until: until},
		KillExecutor{Executor: "a", Reason: reason},
		Excluded{Application: true, Executor: "a2", Host: "A", Failures: 2, Until: until},
		Excluded{Application: true, Host: "A", Failures: 2, Until: until},
		KillExecutor{Executor: "a2", Reason: reason},
		KillExecutor{Executor: "a", Reason: reason},
	}, s.failOnce(1, 4))
	require.Equal(t, []string{"A"}, s.ExcludedNodes())
	require.NoError(t, s.AddExecutor(Executor{ID: "a4", Host: "A", Cores: 1}))
	s.RemoveExecutor("a2", Loss{})
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 1}))
	s.submit(TaskSet{ID: 2, Tasks: 3})
	s.at(0, "2/0@b:no-pref")
	deadline, ok := s.NextDeadline()
	require.True(t, ok)
	require.Equal(t, until, deadline)
	require.Empty(t, s.Advance(until.Add(-1)))
	require.Equal(t, []Event{ExclusionEnded{Executor: "a", Host: "A"}, ExclusionEnded{Executor: "a2", Host: "A"}, ExclusionEnded{Host: "A"}}, s.Advance(until))
	require.Empty(t, s.ExcludedNodes())
	s.at(time.Minute, "2/1@a:no-pref", "2/2@a4:no-pref")
}

func TestSetExcludedEverywhereIsAborted(t *testing.T) {
	s := play(t, excluding(exclusion.Rules{}), Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "small", Host: "S", Cores: 1, Profile: 1})
	s.submit(TaskSet{ID: 1, Name: "count", Tasks: 2})
	s.at(0, "1/0@a:no-pref")
	s.end("1/0", failed)
	const reason = "task 0 of count may run nowhere: all 1 executors that are large enough are excluded"
	until := start.Add(2 * time.Minute)
	require.Equal(t, []Event{TaskSetUnschedulable{TaskSet: 1, Index: 0, Reason: reason, Until: until}}, s.Advance(start))
	s.at(0, "1/1@a:no-pref") // the set's other task may run on executor a
	s.end("1/1", failed)     // this failure excludes the executor for the set
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 1}))
	require.Empty(t, s.Advance(until.Add(-1)), "another executor came")
	s.at(0, "1/0@b:no-pref")
	s.RemoveExecutor("b", Loss{Reason: "gone"})
	again := until.Add(-1).Add(2 * time.Minute)
	require.Equal(t, []Event{TaskSetUnschedulable{TaskSet: 1, Index: 0, Reason: reason, Until: again, IdleExecutor: "a"}}, s.Advance(until.Add(-1)))
	require.Equal(t, []Event{TaskSetAborted{TaskSet: 1, Reason: reason + ", and no other came within 2m0s"}},
		s.Advance(again))
	require.Empty(t, s.Advance(again))
}

func TestFailedTaskAvoidsHostAndExecutor(t *testing.T) {
	a, a2 := Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "a2", Host: "A", Cores: 1}
	b, small := Executor{ID: "b", Host: "B", Cores: 1}, Executor{ID: "small", Host: "B", Cores: 1}
	for _, test := range []struct {
		name      string
		executors []Executor
		cpus      int
		expected  string
	}{
		{"to another host rather than another executor", []Executor{a, a2, b}, 1, "2/0@b:any"},
		{"to another executor of the only host", []Executor{a, a2}, 1, "2/0@a2:node-local"},
		{"back to the only executor", []Executor{a}, 1, "2/0@a:node-local"},
		{"back to the only executor that is large enough", []Executor{{ID: "a", Host: "A", Cores: 2}, small}, 2, "2/0@a:node-local"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, Config{}, test.executors[0])
			s.submit(TaskSet{ID: 2, Tasks: 1, CPUs: test.cpus, Preferences: on("A")})
			s.at(0, "2/0@a:node-local")
			for _, e := range test.executors[1:] {
				require.NoError(t, s.AddExecutor(e))
			}
			require.Equal(t, []Event{AttemptEnded{TaskSet: 2, Attempt: 1, Failures: 1, Reason: "broken"}}, s.end("2/0", failed))
			s.at(0, test.expected)
			require.Equal(t, 1, s.launched["2/0"].Number)
		})
	}
}

func TestFailedTaskWaitsForAnotherExecutor(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 1})
	s.submit(TaskSet{ID: 1, Tasks: 3})
	s.at(0, "1/0@a:no-pref", "1/1@b:no-pref")
	s.end("1/0", failed)
	s.at(0, "1/2@a:no-pref")
	s.end("1/2", success)
	s.at(0)
	s.DecommissionExecutor("b")
	s.at(0, "1/0@a:no-pref")
}

func TestRetriesGoFirst(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 4})
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref")
	s.end("1/1", Outcome{Result: ResultKilled})
	s.end("1/0", Outcome{Result: ResultKilled})
	s.at(0, "1/1@a:no-pref", "1/0@a:no-pref")
	require.Equal(t, 1, s.launched["1/0"].Number)
}

func TestFailures(t *testing.T) {
	uncounted := Outcome{Result: ResultFailed, Reason: "not its fault"}
	killed := Outcome{Result: ResultKilled, Reason: "asked for"}
	for _, test := range []struct {
		name     string
		limit    int
		outcomes []Outcome
		failures int
		over     bool
	}{
		{"the default is 4", 0, []Outcome{failed, failed, failed, failed}, 4, true},
		{"not before the default", 0, []Outcome{failed, failed, failed}, 3, false},
		{"limit reached", 2, []Outcome{failed, failed}, 2, true},
		{"limit not reached", 3, []Outcome{failed, failed}, 2, false},
		{"no retry", 1, []Outcome{failed}, 1, true},
		{"others don't count", 2, []Outcome{failed, uncounted, killed, uncounted}, 1, false},
		{"others don't count between", 2, []Outcome{uncounted, failed, killed, failed}, 2, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 2})
			s.submit(TaskSet{ID: 1, Name: "count", Tasks: 2, MaxFailures: test.limit})
			s.at(0, "1/0@a:no-pref", "1/1@a:no-pref")
			for i, outcome := range test.outcomes {
				events := s.end("1/1", outcome)
				if test.over && i == len(test.outcomes)-1 {
					require.Equal(t, []Event{
						TaskSetFailed{TaskSet: 1, Index: 1, Attempt: s.launched["1/1"].Attempt, FailureCount: test.failures, Reason: "broken"},
						KillAttempt{Attempt: 1, Executor: "a", Reason: fmt.Sprintf("task 1 of count failed %d times", test.failures)},
					}, events)
					require.Equal(t, 1, s.Demand().RunningTasks, "the other attempt uses its core until it is reported")
					require.Empty(t, s.end("1/0", success), "a late success is ignored")
					require.Zero(t, s.Demand())
					require.Empty(t, s.Snapshot().TaskSets)
					s.at(0)
					return
				}
				require.Len(t, events, 1)
				require.Equal(t, outcome.Reason, events[0].(AttemptEnded).Reason)
				s.at(0, "1/1@a:no-pref")
			}
			require.Equal(t, len(test.outcomes), s.launched["1/1"].Number)
		})
	}
}
