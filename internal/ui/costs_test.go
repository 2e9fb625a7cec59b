package ui

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/ui/uitest"
)

// costly is an application of 100 s with an executor of two cores that registers 2 s after its
// request.
func costly(rest ...events.Event) *events.Batch {
	return &events.Batch{Events: append([]events.Event{
		&events.ApplicationStarted{Time: at(0)}, &events.ProfileAdded{Time: at(0), Cores: 2}, &events.ExecutorsRequested{Time: at(.5), Wanted: 1},
		&events.ExecutorRegistered{Time: at(2.5), Number: 1, ID: "1", Cores: 2},
	}, rest...)}
}

// succeeded returns an attempt that ran on a core from begin to end, in seconds since the
// start.
func succeeded(task uint32, begin, end float64) events.Attempt {
	return events.Attempt{Set: 1, Task: task, Executor: 1, Outcome: events.OutcomeSucceeded, Start: micros64(begin), End: micros64(end), Run: micros64(end) - micros64(begin)}
}

func TestCosts(t *testing.T) {
	job := []events.Event{&events.JobSubmitted{Time: at(2.5), Job: 1}, &events.TaskSetSubmitted{Time: at(2.5), Set: 1, Job: 1, Stage: 7, Name: "sum", Tasks: 8}}
	whole := append(job, &events.JobEnded{Time: at(100), Job: 1, State: events.StateSucceeded})
	for name, test := range map[string]struct {
		batch *events.Batch
		want  []string
	}{
		"no executor": {&events.Batch{Events: []events.Event{&events.ApplicationStarted{Time: at(0)}, &events.ExecutorsRequested{Time: at(1), Wanted: 3}}},
			[]string{"waiting for executors 99.0 s"}},
		"no job": {costly(), []string{"no job ran for 97.5 s: the driver function did other work", "waiting for executors 2.0 s"}},
		"busy": {&events.Batch{Events: costly(whole...).Events, Attempts: []events.Attempt{succeeded(0, 2.5, 100), succeeded(1, 2.5, 100)}},
			[]string{"waiting for executors 2.0 s"}},
		"skew": {&events.Batch{Events: costly(whole...).Events, Attempts: []events.Attempt{
			succeeded(0, 2.5, 12.5), succeeded(1, 2.5, 12.5), succeeded(2, 12.5, 22.5), succeeded(3, 12.5, 100),
		}}, []string{"skew in stage 7: sum: task 3 took 87.5 s, 8.8 times the median", "waiting for executors 2.0 s"}},
		"a long task beside others is no skew": {&events.Batch{Events: costly(whole...).Events, Attempts: []events.Attempt{
			succeeded(0, 2.5, 52.5), succeeded(1, 2.5, 12.5), succeeded(2, 12.5, 22.5), succeeded(3, 22.5, 32.5), succeeded(4, 32.5, 42.5), succeeded(5, 42.5, 52.5),
			succeeded(6, 52.5, 76.25), succeeded(7, 52.5, 76.25), succeeded(8, 76.25, 100), succeeded(9, 76.25, 100),
		}}, []string{"waiting for executors 2.0 s"}},
		"idle cores": {&events.Batch{Events: costly(whole...).Events, Attempts: []events.Attempt{succeeded(0, 2.5, 100)}},
			[]string{"idle cores: 1 of 2 ran tasks on average while jobs ran", "waiting for executors 2.0 s"}},
		"failures": {&events.Batch{Events: costly(whole...).Events, Attempts: []events.Attempt{
			succeeded(0, 2.5, 100), {Set: 1, Task: 1, Executor: 1, Outcome: events.OutcomeFailed, Start: micros64(2.5), End: micros64(62.5)}, succeeded(1, 62.5, 100),
		}}, []string{"1 failed or lost attempt ran for 60.0 s", "starting and ending 3 task attempts, 20.0 s each", "waiting for executors 2.0 s"}},
		"spill": {&events.Batch{Events: costly(whole...).Events, Attempts: []events.Attempt{succeeded(0, 2.5, 100), succeeded(1, 2.5, 100)},
			Measurements: []events.Measurement{{Set: 1, Spilled: 1 << 30}}}, []string{"spilled 1.0 GiB to disk", "waiting for executors 2.0 s"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, Costs(snapshotOf(test.batch), at(100).Time))
		})
	}
	require.Empty(t, Costs(nil, at(100).Time))
	require.Empty(t, Costs(snapshotOf(&events.Batch{}), at(100).Time))
	batch, now := uitest.Nightly()
	require.Len(t, Costs(snapshotOf(batch), now.Time), mostCosts)
}

func TestAnEndedApplicationNamesItsCosts(t *testing.T) {
	_, shown := open(t, of(snapshotOf(costly())), "")
	require.NotContains(t, shown, "What took the most time")
	_, shown = open(t, of(snapshotOf(costly(&events.ApplicationEnded{Time: at(100), State: events.StateSucceeded}))), "")
	require.Contains(t, shown, "What took the most time 1. no job ran for 97.5 s: the driver function did other work 2. waiting for executors 2.0 s")
}

func TestCountersOfRunningJobs(t *testing.T) {
	pages := of(snapshotOf(costly(
		&events.JobSubmitted{Time: at(3), Job: 1, Stages: []events.StagePlan{{Stage: 7}, {Stage: 8}}},
		&events.TaskSetSubmitted{Time: at(3), Set: 1, Job: 1, Stage: 7, Tasks: 8}, &events.TaskSetSubmitted{Time: at(3), Set: 2, Job: 1, Stage: 8, Tasks: 8},
		&events.TaskSetValues{Time: at(4), Set: 1, Counters: map[string]int64{"words": 40}, Gauges: map[string]int64{"depth": 3}},
		&events.TaskSetValues{Time: at(4), Set: 2, Counters: map[string]int64{"words": 2}, Gauges: map[string]int64{"depth": 5}},
	)))
	for _, query := range []string{"", "page=job&id=1"} {
		_, shown := open(t, pages, query)
		require.Contains(t, shown, "Counters words 42 depth 5", query)
	}
}

func TestHowManyExecutorsAreWanted(t *testing.T) {
	for wanted, says := range map[int]string{4: "Executors registered 1 of 4", 1<<31 - 1: "Executors registered 1 Running", 0: "Executors registered 1 Running"} {
		_, shown := open(t, of(snapshotOf(&events.Batch{Events: []events.Event{
			&events.ExecutorRegistered{Time: at(2), Number: 1, ID: "1", Cores: 2}, &events.ExecutorsRequested{Time: at(2), Wanted: wanted},
		}})), "")
		require.Contains(t, shown, says)
	}
}
