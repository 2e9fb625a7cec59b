package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/scheduler/speculation"
)

// straggle submits a set of ten tasks. Nine attempts end after a second, and the tenth runs on.
func straggle(t *testing.T, executors ...Executor) *script {
	s := play(t, Config{Speculation: speculation.Rules{Enabled: true}}, Executor{ID: "a", Host: "A", Cores: 10})
	s.submit(TaskSet{ID: 1, Name: "count", Tasks: 10})
	require.Len(t, launched(s.Scheduler, start), 10)
	s.Advance(start.Add(time.Second))
	for id := AttemptID(1); id < 10; id++ {
		require.Len(t, s.Finished(id, success), 1)
	}
	for _, e := range executors {
		require.NoError(t, s.AddExecutor(e))
	}
	require.Empty(t, s.CheckSpeculation(start.Add(3*time.Second)), "three times the median is not more than it")
	require.Equal(t, []Straggler{{Attempt: 10, TaskSet: 1, Index: 9, Executor: "a", RunTime: 3*time.Second + 1, Limit: 3 * time.Second}},
		s.CheckSpeculation(start.Add(3*time.Second+1)))
	require.Empty(t, s.CheckSpeculation(start.Add(time.Hour)), "once is enough")
	return s
}

func TestCopyWins(t *testing.T) {
	s := straggle(t, Executor{ID: "b", Host: "B", Cores: 1})
	s.at(time.Hour, "1/9@b:no-pref")
	require.Equal(t, Launch{Attempt: 11, TaskSet: 1, Index: 9, Number: 1, Executor: "b", Locality: NoPref, Speculative: true}, s.launched["1/9"])
	require.Equal(t, []Event{
		TaskDone{TaskSet: 1, Index: 9, Attempt: 11},
		KillAttempt{Attempt: 10, Executor: "a", Reason: "another attempt of the task was faster"},
		TaskSetDone{TaskSet: 1},
	}, s.end("1/9", success))
	require.Empty(t, s.Finished(10, success), "the other is too late")
	require.Zero(t, s.Demand())
}

func TestAttemptWithResultPendingIsNotCopiedOrCounted(t *testing.T) {
	s := play(t, Config{Speculation: speculation.Rules{Enabled: true}}, Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 1})
	s.submit(TaskSet{ID: 1, Name: "count", Tasks: 3, MaxFailures: 1})
	s.at(0, "1/0@a:no-pref", "1/1@b:no-pref")
	s.Advance(start.Add(time.Second))
	s.ResultPending(1, time.Second)
	s.ResultPending(1, time.Second)
	s.at(time.Second, "1/2@a:no-pref")
	require.Len(t, s.Finished(2, success), 1)
	require.Len(t, s.Finished(3, success), 1)
	require.Empty(t, s.CheckSpeculation(start.Add(time.Hour)))
	require.Equal(t, Demand{RunningTasks: 1}, s.Demand())
	require.Equal(t, []Event{AttemptEnded{TaskSet: 1, Attempt: 1, Reason: "lost"}}, s.RemoveExecutor("a", Loss{Reason: "lost", CountsAsFailure: true}))
	s.at(time.Hour, "1/0@b:no-pref")
	require.Len(t, s.end("1/0", success), 2)
	s.ResultPending(4, time.Second)
	require.Zero(t, s.Demand())
}

func TestOriginalWins(t *testing.T) {
	s := straggle(t, Executor{ID: "b", Host: "B", Cores: 1})
	require.Len(t, s.Finished(10, success), 2)
	s.at(time.Hour)
}

func TestOtherAttemptContinuesIfOneFails(t *testing.T) {
	s := straggle(t, Executor{ID: "b", Host: "B", Cores: 1})
	s.at(time.Hour, "1/9@b:no-pref")
	require.Equal(t, []Event{AttemptEnded{TaskSet: 1, Index: 9, Attempt: 10, Failures: 1, Reason: "broken"}}, s.Finished(10, failed))
	s.at(time.Hour)
	require.Empty(t, s.CheckSpeculation(start.Add(time.Hour+3*time.Second)))
	require.Len(t, s.CheckSpeculation(start.Add(time.Hour+4*time.Second)), 1, "the copy straggles too")
	s.at(time.Hour+4*time.Second, "1/9@a:no-pref")
	require.Equal(t, 2, s.launched["1/9"].Number)
	require.Equal(t, []Event{AttemptEnded{TaskSet: 1, Index: 9, Attempt: 11, Failures: 1, Reason: "lost"}}, s.RemoveExecutor("b", Loss{Reason: "lost"}))
	require.Len(t, s.end("1/9", success), 2)
}

func TestCopyGoesToAnotherHost(t *testing.T) {
	s := straggle(t)
	s.at(time.Hour) // no copy, as there is only one executor
	require.NoError(t, s.AddExecutor(Executor{ID: "a2", Host: "A", Cores: 1}))
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 1, Profile: 1}))
	s.at(time.Hour, "1/9@a2:no-pref")

	s = straggle(t, Executor{ID: "a2", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 1})
	s.submit(TaskSet{ID: 2, Tasks: 1})
	s.at(time.Hour, "1/9@b:no-pref", "2/0@a:no-pref")
}

func TestSmallSetsHaveAThreshold(t *testing.T) {
	s := play(t, Config{Speculation: speculation.Rules{Enabled: true, DurationThreshold: time.Minute}},
		Executor{ID: "a", Host: "A", Cores: 2}, Executor{ID: "b", Host: "B", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 1})
	s.submit(TaskSet{ID: 2, Tasks: 3})
	require.Len(t, launched(s.Scheduler, start), 4)
	require.Empty(t, s.CheckSpeculation(start.Add(time.Minute)))
	require.Len(t, s.CheckSpeculation(start.Add(time.Minute+1)), 1)
}
