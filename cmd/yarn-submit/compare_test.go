package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// runOf returns an application with two stages. The second stage is factor times as slow as usual
// and has one skewed task.
func runOf(factor int, setting string, failed int) applicationSums {
	began := time.Unix(1_700_000_000, 0)
	after := func(d time.Duration) events.Time { return events.At(began.Add(d)) }
	b := &events.Batch{Events: []events.Event{
		&events.ApplicationStarted{Time: after(0), ID: "application_1", Name: "count", Settings: []events.Setting{{Key: "executor.cores", Value: setting}}},
		&events.ExecutorRegistered{Time: after(0), Number: 1, ID: "1", Cores: 2},
		&events.JobSubmitted{Time: after(0), Job: 1, Name: "count"},
		&events.TaskSetSubmitted{Time: after(0), Set: 1, Job: 1, Stage: 10, Name: "map", Tasks: 10},
		&events.TaskSetSubmitted{Time: after(0), Set: 2, Job: 1, Stage: 11, Name: "reduce", Tasks: 10},
	}}
	for task := range uint32(10) {
		for set := range uint64(2) {
			took := events.Micros(1e6)
			if set == 1 {
				took *= events.Micros(factor)
				if task == 9 {
					took *= events.Micros(factor)
				}
			}
			a := events.Attempt{Set: set + 1, Task: task, Executor: 1, Outcome: events.OutcomeSucceeded, Start: events.MicrosOf(began), BytesRead: 100 << 20}
			a.End = a.Start + took
			b.Attempts = append(b.Attempts, a)
		}
	}
	for range failed {
		b.Attempts = append(b.Attempts, events.Attempt{Set: 2, Executor: 1, Outcome: events.OutcomeFailed, Start: events.MicrosOf(began), End: events.MicrosOf(began)})
	}
	b.Events = append(b.Events,
		&events.TaskSetEnded{Time: after(10 * time.Second), Set: 1, State: events.StateSucceeded},
		&events.TaskSetEnded{Time: after(time.Duration(factor) * 10 * time.Second), Set: 2, State: events.StateSucceeded},
		&events.ApplicationEnded{Time: after(time.Duration(factor) * 10 * time.Second), State: events.StateSucceeded})
	model := events.NewModel(events.Limits{})
	model.Consume(b)
	return summarizeRun(model.Snapshot())
}

func TestCompareRuns(t *testing.T) {
	compared := compareRuns(runOf(1, "2", 0), runOf(4, "1", 3))
	require.Len(t, compared.Stages, 1, "the other stage took as long")
	require.Equal(t, stageValues{Name: "reduce", Values: []comparedValue{
		{"time", "s", 10, 40}, {"time in tasks", "s", 10, 52}, {"failed attempts", "", 0, 3}, {"skew", "", 1, 4},
	}}, compared.Stages[0])
	require.Equal(t, []comparedText{{"executor.cores", "2", "1"}}, compared.Settings)
	require.Empty(t, compared.Facts)
	var printed strings.Builder
	require.NoError(t, compared.print(&printed))
	require.Regexp(t, `(?m)^time +10s +40s +x 4 *$`, printed.String())
	require.Regexp(t, `(?m)^executor.cores +2 +1 *$`, printed.String())
	require.Regexp(t, `(?m)^stage reduce *\n  time +10s +40s +x 4 *$`, printed.String())
	require.Regexp(t, `(?m)^  failed attempts +0 +3 +\(new\) *$`, printed.String())
	require.NotContains(t, printed.String(), "stage map")
}

func TestCompareEqualRuns(t *testing.T) {
	compared := compareRuns(runOf(1, "2", 0), runOf(1, "2", 0))
	require.Empty(t, compared.Stages)
	require.Empty(t, compared.Settings)
	var printed strings.Builder
	require.NoError(t, compared.print(&printed))
	require.Contains(t, printed.String(), "stages that differ by more than 10 % in something: 0; others: 2")
}

func TestHistoryCompare(t *testing.T) {
	directory := t.TempDir()
	writeLog(t, directory, "local-1", 1)
	writeLog(t, directory, "local-2", 1)
	code, stdout, stderr := run("history", "compare", "--dir", "file://"+directory, "local-1", "local-2")
	require.Zero(t, code, stderr)
	require.Regexp(t, `(?m)^ +local-1 +local-2`, stdout)
	code, stdout, stderr = run("history", "compare", "--dir", "file://"+directory, "local-1", "local-2", "--json")
	require.Zero(t, code, stderr)
	var compared comparison
	require.NoError(t, json.Unmarshal([]byte(stdout), &compared))
	require.Equal(t, "local-2", compared.B.ID)
}
