package exclusion

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	rules = Rules{Timeout: time.Minute}.WithDefaults()
	start = time.Unix(1_000_000, 0)
)

func TestTask(t *testing.T) {
	var task TaskFailures
	require.False(t, task.Excludes("a1", "A"))
	task.AddFailure(&rules, "a1", "A")
	require.True(t, task.Excludes("a1", "A"))
	require.False(t, task.Excludes("a2", "A"))
	task.AddFailure(&rules, "a2", "A")
	require.True(t, task.Excludes("a3", "A"), "two failures exclude the node")
	require.False(t, task.Excludes("b1", "B"))
}

func TestSet(t *testing.T) {
	var set TaskSetFailures
	for _, test := range []struct {
		task             int32
		executor         string
		tasks, executors int
	}{
		{0, "a1", 0, 0},
		{0, "a1", 0, 0}, // further failures of the same task do not count
		{1, "a1", 2, 0},
		{2, "a1", 0, 0}, // the executor is excluded already
		{3, "a2", 0, 0},
		{4, "a2", 2, 2},
		{5, "a3", 0, 0},
		{6, "a3", 2, 0}, // the node is excluded already
	} {
		tasks, executors := set.AddFailure(&rules, test.task, test.executor, "A", start)
		require.Equal(t, test.tasks, tasks, "%+v", test)
		require.Equal(t, test.executors, executors, "%+v", test)
	}
	require.True(t, set.Excludes("a4", "A"))
	require.False(t, set.Excludes("b1", "B"))
}

// failedSet returns the failures of a set of which two tasks failed on each executor.
func failedSet(now time.Time, executors ...string) *TaskSetFailures {
	var set TaskSetFailures
	for _, executor := range executors {
		set.AddFailure(&rules, 0, executor, "A", now)
		set.AddFailure(&rules, 1, executor, "A", now)
	}
	return &set
}

func alive(string) bool { return true }

func TestApplication(t *testing.T) {
	var x ApplicationExclusions
	until := start.Add(time.Minute)
	require.Equal(t, []Exclusion{
		{Executor: "a1", Node: "A", FailedTasks: 2, Until: until},
		{Executor: "a2", Node: "A", FailedTasks: 2, ExcludedExecutors: 2, Until: until},
	}, x.AddSet(&rules, failedSet(start, "a1", "a2"), alive, start))
	require.True(t, x.Excludes("a3", "A"))
	require.False(t, x.Excludes("b1", "B"))
	require.Equal(t, []string{"A"}, x.Nodes())
	require.Empty(t, x.AddSet(&rules, failedSet(start, "a1"), alive, start), "it is excluded already")

	require.Equal(t, until, x.NextExpiry())
	require.Empty(t, x.Expire(until.Add(-1)))
	require.Equal(t, []Exclusion{{Executor: "a1", Node: "A"}, {Executor: "a2", Node: "A"}, {Node: "A"}}, x.Expire(until))
	require.False(t, x.Any())
	require.Zero(t, x.NextExpiry())
}

func TestApplicationCountsOverSetsAndTime(t *testing.T) {
	var x ApplicationExclusions
	one := func(now time.Time) *TaskSetFailures {
		var set TaskSetFailures
		set.AddFailure(&rules, 0, "a1", "A", now)
		return &set
	}
	require.Empty(t, x.AddSet(&rules, one(start), alive, start))
	late := start.Add(time.Minute)
	require.Empty(t, x.AddSet(&rules, one(late), alive, late), "the first failure is too old")
	x.RemoveExecutor("a1")
	require.Empty(t, x.AddSet(&rules, one(late), alive, late), "failures of a removed executor are forgotten")
	require.Empty(t, x.AddSet(&rules, one(late), func(string) bool { return false }, late), "the executor is gone")
	require.Len(t, x.AddSet(&rules, one(late), alive, late), 1)
}
