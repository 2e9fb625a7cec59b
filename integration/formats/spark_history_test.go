//go:build integration && spark

package formats_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/bench/spark"
	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/storage"
)

// TestSparkHistoryServerShowsExportedLogs checks that Spark's history server counts as bobbin's
// own event logs do: jobs, stages, tasks, failed attempts and executors of a job with two
// stages, and of one whose task fails twice.
func TestSparkHistoryServerShowsExportedLogs(t *testing.T) {
	installation, err := spark.Find(t.Context())
	require.NoError(t, err)
	programs, own, exported, in := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	const module = "github.com/bobbin-yarn/bobbin/"
	said, err := exec.CommandContext(t.Context(), "go", "build", "-o", programs+"/", module+"cmd/yarn-submit", module+"examples/wordcount", module+"integration/programs/trouble").CombinedOutput()
	require.NoError(t, err, "%s", said)
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.WriteFile(filepath.Join(in, name), []byte(strings.Repeat("some words\n", 1000)), 0o644))
	}
	for _, program := range [][]string{{"wordcount", in, filepath.Join(t.TempDir(), "out")}, {"trouble", "flaky", "2"}} {
		command := exec.CommandContext(t.Context(), filepath.Join(programs, "yarn-submit"), append([]string{
			"submit", "--master", "local-cluster[2,2,1024]", "--num-executors", "2", "--executor-cores", "2",
			"--conf", "eventLog.dir=file://" + own, "--conf", "eventLog.spark.dir=file://" + exported, filepath.Join(programs, program[0]),
		}, program[1:]...)...)
		said, err := command.CombinedOutput()
		require.NoError(t, err, "%s", said)
	}
	server, err := installation.StartHistoryServer(t.Context(), exported)
	require.NoError(t, err)
	defer func() {
		if output := server.Stop(); t.Failed() {
			t.Log(output)
		}
	}()
	files := storage.New(storage.Options{})
	defer func() { assert.NoError(t, files.Close()) }()
	logs, err := eventlog.List(t.Context(), files, "file://"+own)
	require.NoError(t, err)
	require.Len(t, logs, 2)
	for _, log := range logs {
		model, _, err := eventlog.Load(t.Context(), files, log.Path, events.Limits{})
		require.NoError(t, err)
		assertCountsOfSpark(t, server, model.Snapshot())
	}
}

// assertCountsOfSpark compares the counts of Spark's history server for an application with
// those in its state.
func assertCountsOfSpark(t *testing.T, server *spark.HistoryServer, state *events.Snapshot) {
	t.Helper()
	type counts struct{ jobs, stages, tasks, failed, executors, attempts int }
	want := counts{jobs: len(state.Jobs), tasks: state.Totals.Done, failed: state.Totals.FailedAttempts}
	for _, executor := range state.Executors {
		if !executor.Registered.IsZero() { // of a short application some executors never register
			want.executors++
		}
	}
	want.attempts = want.tasks + want.failed
	for _, job := range state.Jobs {
		want.stages += len(job.Sets)
	}
	require.Positive(t, want.tasks)
	path := "applications/" + state.Application.ID + "/1/"
	var jobs []struct {
		Status                            string
		NumCompletedTasks, NumFailedTasks int
	}
	var stages []struct {
		Status                           string
		NumCompleteTasks, NumFailedTasks int
	}
	var executors []struct{ TotalTasks int }
	require.NoError(t, server.Get(t.Context(), path+"jobs", &jobs))
	require.NoError(t, server.Get(t.Context(), path+"stages", &stages))
	require.NoError(t, server.Get(t.Context(), path+"allexecutors", &executors))
	got := counts{jobs: len(jobs), stages: len(stages), executors: len(executors)}
	for _, job := range jobs {
		assert.Equal(t, "SUCCEEDED", job.Status)
		got.tasks += job.NumCompletedTasks
		got.failed += job.NumFailedTasks
	}
	ofStages := 0
	for _, stage := range stages {
		assert.Equal(t, "COMPLETE", stage.Status)
		ofStages += stage.NumCompleteTasks
	}
	for _, executor := range executors {
		got.attempts += executor.TotalTasks
	}
	assert.Equal(t, want, got, state.Application.Name)
	assert.Equal(t, want.tasks, ofStages, state.Application.Name)
}
