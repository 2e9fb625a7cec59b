package scheduler

import (
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
