package events_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(after time.Duration) events.Time { return events.At(start.Add(after)) }

// attempt returns a row of an attempt that starts at the beginning and takes 10 ms.
func attempt(set uint64, task uint32, outcome events.Outcome) events.Attempt {
	begun := events.MicrosOf(start)
	return events.Attempt{
		Set: set, Task: task, Executor: 1, Outcome: outcome, Locality: events.LocalityNode, Start: begun, End: begun + 10_000, Run: 9000, BytesRead: 5,
	}
}

func registered(number uint32, id string) *events.ExecutorRegistered {
	return &events.ExecutorRegistered{Time: at(0), Number: number, ID: id, Host: "host" + id, Cores: 2}
}

func submitted(set uint64, tasks int) []events.Event {
	return []events.Event{
		&events.JobSubmitted{Time: at(0), Job: set, Name: "count"},
		&events.TaskSetSubmitted{Time: at(0), Set: set, Job: set, Name: "count", Tasks: tasks},
	}
}

// fold returns the state of a new Model after consuming batches.
func fold(batches ...*events.Batch) *events.Snapshot {
	m := events.NewModel(events.Limits{})
	for _, b := range batches {
		m.Consume(b)
	}
	return m.Snapshot()
}

func TestAttemptsAreCounted(t *testing.T) {
	failed := attempt(1, 1, events.OutcomeFailed)
	running := attempt(1, 2, events.OutcomeRunning)
	running.End = 0
	s := fold(&events.Batch{
		Events: append(submitted(1, 4), registered(1, "7"),
			&events.AttemptFailed{Time: at(time.Second), Set: 1, Task: 1, Message: "no file 17"}),
		Attempts: []events.Attempt{running, failed, attempt(1, 0, events.OutcomeSucceeded)},
	})
	job := s.Job(1)
	require.Len(t, job.Sets, 1)
	for _, counts := range []events.Counts{job.Counts, job.Sets[0].Counts, s.Totals.Counts} {
		require.Equal(t, 4, counts.Tasks)
		require.Equal(t, 1, counts.Done)
		require.Equal(t, 1, counts.Running)
		require.Equal(t, 1, counts.FailedAttempts)
		require.Equal(t, int64(10), counts.Sums.BytesRead)
		require.Equal(t, 3, counts.Sums.Localities[events.LocalityNode])
	}
	require.Equal(t, 1, s.Totals.CoresBusy)
	require.Equal(t, 2, s.Totals.Cores)
	require.Equal(t, "7", s.Executor(1).ID)
	require.Equal(t, []events.Attempt{running}, s.RunningAttempts())
	require.Len(t, slices.Collect(s.Attempts()), 2)
	require.Equal(t, 1, job.Sets[0].Took[14], "10 ms is between 2^13 and 2^14 µs")
}

func TestRowsAfterTheEndOfTheirJobCount(t *testing.T) {
	s := fold(
		&events.Batch{Events: append(submitted(1, 1),
			&events.TaskSetEnded{Time: at(1), Set: 1, State: events.StateSucceeded}, &events.JobEnded{Time: at(1), Job: 1, State: events.StateSucceeded})},
		&events.Batch{Attempts: []events.Attempt{attempt(1, 0, events.OutcomeSucceeded)}})
	require.Equal(t, 1, s.Job(1).Counts.Done)
	require.Equal(t, events.StateSucceeded, s.Job(1).State)
	require.Zero(t, s.Totals.JobsRunning)
}

func TestRecalledAttemptsDoNotCount(t *testing.T) {
	launched := attempt(1, 0, events.OutcomeRunning)
	s := fold(&events.Batch{Events: submitted(1, 1), Attempts: []events.Attempt{launched}},
		&events.Batch{Attempts: []events.Attempt{attempt(1, 0, events.OutcomeRecalled)}})
	require.Zero(t, s.Totals.Running)
	require.Zero(t, s.Totals.Sums)
	require.Empty(t, slices.Collect(s.Attempts()))
}

func TestStagesThatRunAgainCountOnce(t *testing.T) {
	set := func(id uint64, tasks int) events.Event {
		return &events.TaskSetSubmitted{Time: at(0), Set: id, Job: 1, Stage: 2, Tasks: tasks}
	}
	s := fold(&events.Batch{
		Events: []events.Event{&events.JobSubmitted{Time: at(0), Job: 1, Stages: []events.StagePlan{{Stage: 2}}}, set(3, 2), set(4, 1)},
		Attempts: []events.Attempt{
			attempt(3, 0, events.OutcomeSucceeded), attempt(3, 1, events.OutcomeSucceeded), attempt(4, 1, events.OutcomeSucceeded),
		},
	})
	require.Equal(t, 2, s.Job(1).Counts.Tasks)
	require.Equal(t, 2, s.Job(1).Counts.Done)
}

func TestFailuresAreGroupedByMessage(t *testing.T) {
	var failures []events.Event
	for i := range 30 {
		failures = append(failures, &events.AttemptFailed{
			Time: at(time.Duration(i)), Set: 1, Task: uint32(i), Executor: 1, Message: fmt.Sprintf("part %d is damaged\nat byte 3", i),
		})
	}
	failures = append(failures, &events.AttemptFailed{Time: at(time.Hour), Set: 1, Task: 99, Message: "the executor left"})
	s := fold(&events.Batch{Events: append(append(submitted(1, 100), registered(1, "7")), failures...),
		Attempts: []events.Attempt{attempt(1, 99, events.OutcomeExecutorLost)}})
	require.Len(t, s.Failures, 2)
	group := s.Failures[0]
	require.Equal(t, 30, group.Count)
	require.Equal(t, map[uint64]int{1: 30}, group.Sets)
	require.Equal(t, map[string]int{"7": 30}, group.Executors)
	require.Less(t, len(group.Samples), 30)
	require.Equal(t, 1, s.Totals.LostAttempts)
}

func TestExecutorsLives(t *testing.T) {
	s := fold(&events.Batch{Events: []events.Event{
		&events.ExecutorAllocated{Time: at(1), ID: "1", Host: "a", Container: "container_1"},
		&events.ExecutorLaunched{Time: at(2), ID: "1"},
		registered(1, "1"),
		&events.ExecutorDecommissioned{Time: at(4), ID: "1", Reason: "its node is drained"},
		&events.ExecutorLost{Time: at(5), ID: "1", Reason: "left as it was told to", Expected: true},
		&events.ExecutorAllocated{Time: at(1), ID: "2", Host: "b"},
		&events.ExecutorLost{Time: at(9), ID: "2", Reason: "could not be started"},
	}, Memory: []events.MemorySample{{Executor: 1, Time: 5, Resident: 100}}})
	require.Len(t, s.Executors, 2)
	one, two := s.Executors[0], s.Executors[1]
	require.Equal(t, events.ExecutorStateLost, one.State)
	require.True(t, one.Expected)
	require.Equal(t, start.Add(1), one.Allocated)
	require.Equal(t, start.Add(5), one.Lost)
	require.Len(t, one.Memory, 1)
	require.Equal(t, "could not be started", two.Reason)
	require.Equal(t, 1, s.Totals.Lost)
}

func TestLimits(t *testing.T) {
	m := events.NewModel(events.Limits{Jobs: 10, Attempts: 2000})
	for id := uint64(1); id <= 100; id++ {
		b := &events.Batch{Events: append(submitted(id, 100), &events.JobEnded{Time: at(1), Job: id, State: events.StateSucceeded})}
		for task := range uint32(100) {
			b.Attempts = append(b.Attempts, attempt(id, task, events.OutcomeSucceeded))
		}
		m.Consume(b)
	}
	s := m.Snapshot()
	require.LessOrEqual(t, len(s.Jobs), 10)
	require.Equal(t, uint64(100), s.Jobs[len(s.Jobs)-1].Job)
	require.Equal(t, 100, s.Totals.Jobs)
	require.Equal(t, 10_000, s.Totals.Done)
	rows := len(slices.Collect(s.Attempts()))
	require.GreaterOrEqual(t, rows, 2000)
	require.Less(t, rows, 5000)
}

// TestSnapshotsDoNotChange consumes random batches, and checks that no snapshot changes after
// its creation.
func TestSnapshotsDoNotChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := events.NewModel(events.Limits{Jobs: 4, Attempts: 1500})
		type taken struct {
			snapshot *events.Snapshot
			text     string
		}
		var all []taken
		for range rapid.IntRange(1, 20).Draw(t, "batches") {
			m.Consume(randomBatch(t))
			if rapid.Bool().Draw(t, "snapshot") {
				s := m.Snapshot()
				all = append(all, taken{s, text(t, s)})
			}
		}
		for _, each := range all {
			require.Equal(t, each.text, text(t, each.snapshot))
		}
	})
}

func text(t require.TestingT, s *events.Snapshot) string {
	encoded, err := json.Marshal(s)
	require.NoError(t, err)
	return fmt.Sprintf("%s %d attempts %v", encoded, len(slices.Collect(s.Attempts())), s.RunningAttempts())
}

func randomBatch(t *rapid.T) *events.Batch {
	b := &events.Batch{}
	id := func(name string) uint64 { return uint64(rapid.IntRange(1, 8).Draw(t, name)) }
	for range rapid.IntRange(0, 5).Draw(t, "events") {
		b.Events = append(b.Events, rapid.SampledFrom([]events.Event{
			&events.JobSubmitted{Time: at(0), Job: id("job")},
			&events.TaskSetSubmitted{Time: at(0), Set: id("set"), Job: id("job"), Stage: id("stage"), Tasks: 10},
			&events.TaskSetEnded{Time: at(0), Set: id("set"), State: events.StateFailed},
			&events.JobEnded{Time: at(0), Job: id("job"), State: events.StateFailed},
			&events.AttemptFailed{Time: at(0), Set: id("set"), Task: uint32(id("task")), Message: fmt.Sprint("e", id("message"))},
			&events.ExecutorRegistered{Time: at(0), Number: uint32(id("number")), ID: fmt.Sprint(id("executor"))},
			&events.ExecutorLost{Time: at(0), ID: fmt.Sprint(id("executor"))},
			&events.Excluded{Time: at(0), Executor: fmt.Sprint(id("executor"))},
			&events.ExclusionEnded{Time: at(0), Executor: fmt.Sprint(id("executor"))},
			&events.CacheChanged{Time: at(0), ID: fmt.Sprint(id("cache")), Removed: id("removed") > 4},
			&events.StepsPlanned{Time: at(0), Steps: []events.StepPlan{{Name: fmt.Sprint(id("step")), Needs: []string{"1"}, Tasks: 2}}},
			&events.StepStarted{Time: at(0), Step: fmt.Sprint(id("step"))},
			&events.StepEnded{Time: at(0), Step: fmt.Sprint(id("step"))},
			&events.ExecutorsRequested{Time: at(0), Profile: int(id("profile")), Wanted: 3},
			&events.NotesChanged{Time: at(0), Source: "am", Notes: []string{"slow"}},
		}).Draw(t, "event"))
	}
	for range rapid.IntRange(0, 700).Draw(t, "rows") {
		a := attempt(id("set"), uint32(id("task")), events.OutcomeSucceeded)
		b.Attempts = append(b.Attempts, a)
	}
	for range rapid.IntRange(0, 3).Draw(t, "launches") {
		b.Attempts = append(b.Attempts, attempt(id("set"), uint32(id("task")), events.OutcomeRunning))
	}
	for range rapid.IntRange(0, 3).Draw(t, "samples") {
		b.Memory = append(b.Memory, events.MemorySample{Executor: uint32(id("number")), Time: 1, Resident: 2})
	}
	return b
}

func TestValuesOfARunningTaskSet(t *testing.T) {
	m := events.NewModel(events.Limits{})
	m.Consume(&events.Batch{Events: []events.Event{
		&events.TaskSetSubmitted{Time: at(1), Set: 1, Job: 1, Tasks: 2},
		&events.TaskSetValues{Time: at(2), Set: 1, Counters: map[string]int64{"words": 5}, Gauges: map[string]int64{"depth": 2}},
		&events.TaskSetValues{Time: at(2), Set: 9, Counters: map[string]int64{"words": 7}},
	}})
	s := m.Snapshot()
	_, set := s.Set(1)
	require.Equal(t, map[string]int64{"words": 5}, set.Counters)
	require.Equal(t, map[string]int64{"depth": 2}, set.Gauges)
	require.Len(t, s.Recent, 1)
	m.Consume(&events.Batch{Events: []events.Event{
		&events.TaskSetEnded{Time: at(3), Set: 1, State: events.StateSucceeded, Counters: map[string]int64{"words": 6}},
		&events.TaskSetValues{Time: at(3), Set: 1, Counters: map[string]int64{"words": 5}},
	}})
	_, set = m.Snapshot().Set(1)
	require.Equal(t, map[string]int64{"words": 6}, set.Counters)
	_, set = s.Set(2)
	require.Nil(t, set)
}

func TestStragglers(t *testing.T) {
	require.True(t, events.IsStraggling(time.Minute, 10*time.Second))
	require.False(t, events.IsStraggling(time.Minute, 20*time.Second))
	require.False(t, events.IsStraggling(9*time.Second, time.Millisecond))
	require.False(t, events.IsStraggling(time.Minute, 0), "nothing is known of the others")
}
