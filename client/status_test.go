package client

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a golden file in testdata/status.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "status", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "go test ./client -update writes it anew")
}

func TestStatusOfARunningApplication(t *testing.T) {
	now := time.Date(2026, 11, 21, 15, 0, 1, 0, time.UTC)
	for _, name := range []string{"running", "calm"} {
		t.Run(name, func(t *testing.T) {
			said, err := os.ReadFile(filepath.Join("testdata", "status", name+".json"))
			require.NoError(t, err)
			f := newFakeYARN(t)
			f.reports = []map[string]any{running()}
			f.statuses = []string{string(said)}
			report, err := f.cluster(nil).Status(context.Background(), fakeID)
			require.NoError(t, err)
			report.Times = StateTimes{}
			out := &bytes.Buffer{}
			report.writeText(out, now)
			golden(t, name, out.String())

			encoded, err := json.Marshal(report)
			require.NoError(t, err)
			var again Report
			require.NoError(t, json.Unmarshal(encoded, &again))
			require.Equal(t, report.Progress, again.Progress, "--json loses nothing")
		})
	}
}

func TestStatusOfAnEndedApplicationHasItsSummary(t *testing.T) {
	const summary = `summary: task_sets=1 tasks=3 failed_attempts=1 any=3 executors=2 lost_executors=4 ended="3 beyond its memory, 1 preempted" excluded="n4, n5" run=9.1s`
	for name, life := range map[string]map[string]any{
		"succeeded": {"state": "FINISHED", "finalStatus": "SUCCEEDED", "diagnostics": summary},
		"failed":    {"state": "FINISHED", "finalStatus": "FAILED", "diagnostics": "3 executors failed, executor.maxNumFailures is 3\nmore of it\n" + summary},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeYARN(t)
			f.reports = []map[string]any{life}
			report, err := f.cluster(nil).Status(context.Background(), fakeID)
			require.NoError(t, err)
			require.Equal(t, "3 beyond its memory, 1 preempted", report.Summary["ended"])
			require.EqualValues(t, 4, report.Summary["lost_executors"])
			out := &bytes.Buffer{}
			report.writeText(out, time.Time{})
			golden(t, name, out.String())
		})
	}
}

func TestStatusShowsWhyAnApplicationWaits(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{{"state": "ACCEPTED", "finalStatus": "UNDEFINED", "diagnostics": "[Sat Nov 21 15:00:00 +0000 2026] Application is added to the scheduler and is not yet activated. Queue's AM resource limit exceeded. "}}
	report, err := f.cluster(nil).Status(t.Context(), fakeID)
	require.NoError(t, err)
	out := &bytes.Buffer{}
	report.Write(out)
	require.Contains(t, out.String(), "waiting      Application is added to the scheduler and is not yet activated. Queue's AM resource limit exceeded.\n")
	require.NotContains(t, out.String(), "UNDEFINED")
}
