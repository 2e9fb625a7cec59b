package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
	"github.com/bobbin-yarn/bobbin/scheduler/speculation"
)

// queued returns a scheduler with an executor of two cores. Of the twenty tasks of a set, one
// has run on the executor, two are running, and four are queued.
func queued(t *testing.T, config Config) *script {
	s := play(t, config, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Name: "short", Tasks: 20, MaxFailures: 1})
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref")
	s.end("1/0", Outcome{Result: ResultSucceeded, Took: time.Microsecond})
	s.SetWindow("a", 1, 4)
	s.at(0, "1/2@a:no-pref", "1/3@a:no-pref", "1/4@a:no-pref", "1/5@a:no-pref", "1/6@a:no-pref")
	require.False(t, s.launched["1/2"].Queued, "it uses the free core")
	require.True(t, s.launched["1/3"].Queued)
	require.Equal(t, 4, s.QueuedAt("a"))
	return s
}

func TestWindowIsRefilled(t *testing.T) {
	s := queued(t, Config{})
	s.end("1/1", success)
	require.Equal(t, 3, s.QueuedAt("a"), "the first of them has started")
	s.at(0, "1/7@a:no-pref")
	s.SetWindow("a", 1, 1)
	s.end("1/2", success)
	s.at(0)
	s.SetWindow("a", 2, 100)
	s.at(0)
}

func TestFreeCoresAreFilledBeforeWindows(t *testing.T) {
	s := queued(t, Config{})
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 10}))
	s.SetWindow("a", 1, 8)
	launches := launched(s.Scheduler, start)
	require.Len(t, launches, 13)
	for i, l := range launches {
		require.Equal(t, i >= 10, l.Queued)
	}
}

func TestLossCountsOnlyForAttemptsRunningSinceLaunch(t *testing.T) {
	s := queued(t, Config{})
	s.end("1/1", success)
	// Task 3 has started and may have ended. Tasks 4 to 6 may have started. Only task 2 was
	// certainly running.
	events := s.RemoveExecutor("a", Loss{Reason: "was killed", CountsAsFailure: true})
	require.Equal(t, 2, events[0].(TaskSetFailed).Index)

	s = queued(t, Config{})
	s.end("1/1", success)
	s.end("1/2", success)
	require.Len(t, s.RemoveExecutor("a", Loss{Reason: "was killed", CountsAsFailure: true}), 4, "no failure is counted")
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 1}))
	s.SetWindow("b", 1, 100)
	for _, task := range []string{"1/3", "1/4", "1/5"} {
		s.at(0, task+"@b:no-pref")
		require.False(t, s.launched[task].Queued, "it gets a core of its own")
		s.end(task, success)
	}
	last := launched(s.Scheduler, start)
	require.Len(t, last, 14, "others are queued again")
	require.Equal(t, 6, last[0].Index)
	require.False(t, last[0].Queued)
}

func TestDecommissioningRecallsQueuedAttempts(t *testing.T) {
	s := queued(t, Config{})
	require.Equal(t, []Event{Recall{Executor: "a"}}, s.DecommissionExecutor("a"))
	require.Equal(t, []Event{AttemptEnded{TaskSet: 1, Index: 4, Attempt: s.launched["1/4"].Attempt}}, s.end("1/4", Outcome{Result: ResultRecalled}))
	s.end("1/5", Outcome{Result: ResultRecalled})
	s.end("1/6", Outcome{Result: ResultRecalled})
	s.end("1/3", Outcome{Result: ResultRecalled})
	require.Empty(t, s.DecommissionExecutor("a"), "nothing is queued there")
}

func TestExclusionRecallsQueuedAttempts(t *testing.T) {
	s := play(t, Config{Exclusion: exclusion.Rules{Enabled: true, SetFailedTasksPerExecutor: 1}}, Executor{ID: "a", Host: "A", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 20, MaxFailures: 9})
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref")
	s.end("1/0", success)
	s.SetWindow("a", 1, 2)
	s.at(0, "1/2@a:no-pref", "1/3@a:no-pref", "1/4@a:no-pref")
	require.Equal(t, []Event{Excluded{TaskSet: 1, Executor: "a", Host: "A", Failures: 1}, Recall{Executor: "a"}}, s.end("1/1", Outcome{Result: ResultFailed, CountsAsFailure: true})[:2])
}

func TestQueuedAttemptsAreRecalledForSetThatGoesFirst(t *testing.T) {
	recalled := func(s *script, set TaskSet) []Event {
		s.submit(set)
		_, events := s.Offer(start)
		return events
	}
	recall := []Event{Recall{Executor: "a"}}
	require.Empty(t, recalled(queued(t, Config{}), TaskSet{ID: 2, Tasks: 1}), "it comes later")
	require.Equal(t, recall, recalled(queued(t, Config{}), TaskSet{ID: 2, Tasks: 1, Priority: pool.Priority{Job: 1}}))
	require.Equal(t, recall, recalled(queued(t, Config{Mode: pool.FAIR}), TaskSet{ID: 2, Tasks: 1, Pool: "other"}))
	require.Empty(t, recalled(queued(t, Config{Mode: pool.FAIR}), TaskSet{ID: 2, Tasks: 1}), "it comes later in the same pool")
}

func TestMedianIsOfDurationsMeasuredByExecutors(t *testing.T) {
	s := queued(t, Config{Speculation: speculation.Rules{Enabled: true, Quantile: 0.1, MinTaskRuntime: 1}})
	// The ends of all attempts are reported at the same time, each with a run time of a second.
	for _, task := range []string{"1/1", "1/2", "1/3", "1/4"} {
		s.end(task, Outcome{Result: ResultSucceeded, Took: time.Second})
	}
	require.Empty(t, s.CheckSpeculation(start.Add(3*time.Second)), "an attempt may take three times the median")
	require.Len(t, s.CheckSpeculation(start.Add(3*time.Second+1)), 2)
}

func TestPriorityIsByJobAndStage(t *testing.T) {
	s := play(t, Config{}, Executor{ID: "a", Host: "A", Cores: 1})
	for i, priority := range []pool.Priority{{}, {Job: 2, Stage: 1}, {Job: 2}, {Job: 1, Stage: 9}, {Job: 2}} {
		s.submit(TaskSet{ID: uint64(i), Tasks: 1, Priority: priority})
	}
	for _, task := range []string{"3/0", "2/0", "4/0", "1/0", "0/0"} {
		s.at(0, task+"@a:no-pref")
		s.end(task, success)
	}
}
