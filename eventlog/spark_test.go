package eventlog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/storage"
)

// sparkEvents writes batches in Spark's format, and returns the decoded lines. bench/history loads
// such a log into a real Spark history server.
func sparkEvents(t *testing.T, batches ...*events.Batch) []map[string]any {
	t.Helper()
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	directory := t.TempDir()
	var warnings bytes.Buffer
	log := eventlog.StartSpark(eventlog.Options{
		Files: files, Directory: directory, Application: "application_1", Attempt: 2, Logger: slog.New(slog.NewTextHandler(&warnings, nil)),
	})
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(directory, "application_1_2.zstd.inprogress"))
		return err == nil
	}, 10*time.Second, time.Millisecond)
	for _, b := range batches {
		log.Consume(b)
	}
	log.Close(context.Background(), events.StateSucceeded, &events.Snapshot{})
	require.Empty(t, warnings.String())
	compressed, err := os.ReadFile(filepath.Join(directory, "application_1_2.zstd"))
	require.NoError(t, err)
	decoder, err := zstd.NewReader(bytes.NewReader(compressed))
	require.NoError(t, err)
	defer decoder.Close()
	var lines []map[string]any
	for lineDecoder := json.NewDecoder(decoder); lineDecoder.More(); {
		var line map[string]any
		require.NoError(t, lineDecoder.Decode(&line))
		lines = append(lines, line)
	}
	return lines
}

func TestSparkFormat(t *testing.T) {
	micros := func(after time.Duration) events.Micros { return events.MicrosOf(start.Add(after)) }
	lines := sparkEvents(t, &events.Batch{
		Events: []events.Event{
			&events.ApplicationStarted{Time: at(0), ID: "application_1", Attempt: 2, Name: "count", User: "alice", Settings: []events.Setting{{Key: "ui.view.acls", Value: "bob"}}},
			&events.ExecutorRegistered{Time: at(time.Second), Number: 7, ID: "1", Host: "node1", Cores: 2},
			&events.JobSubmitted{Time: at(time.Second), Job: 1, Name: "sum"},
			&events.TaskSetSubmitted{Time: at(time.Second), Set: 1, Job: 1, Name: "sum", Tasks: 1},
			&events.TaskSetEnded{Time: at(3 * time.Second), Set: 1, State: events.StateSucceeded, Counters: map[string]int64{"words": 5}},
			&events.JobEnded{Time: at(3 * time.Second), Job: 1, State: events.StateSucceeded},
			&events.JobSubmitted{Time: at(4 * time.Second), Job: 2, Name: "sort", Stages: []events.StagePlan{{Stage: 3, Name: "map"}, {Stage: 4, Name: "reduce", Parents: []uint64{3}}}},
			&events.TaskSetSubmitted{Time: at(4 * time.Second), Set: 5, Job: 2, Stage: 3, Name: "map", Tasks: 2},
			&events.AttemptFailed{Time: at(5 * time.Second), Set: 5, Task: 1, Executor: 7, Message: "no such file", Stack: "main.go:1"},
		},
		Attempts: []events.Attempt{
			{Set: 1, Executor: 7, Start: micros(time.Second)},
			{Set: 1, Executor: 7, Outcome: events.OutcomeSucceeded, Locality: events.LocalityNode, Start: micros(time.Second), End: micros(2 * time.Second), Run: 990_000, BytesRead: 10},
			{Set: 5, Task: 0, Executor: 7, Outcome: events.OutcomeSucceeded, Start: micros(4 * time.Second), End: micros(5 * time.Second)},
			{Set: 5, Task: 1, Executor: 7, Outcome: events.OutcomeFailed, Start: micros(4 * time.Second), End: micros(5 * time.Second)},
			{Set: 5, Task: 1, Number: 1, Executor: 7, Outcome: events.OutcomeRecalled, Start: micros(5 * time.Second), End: micros(5 * time.Second)},
		},
		Measurements: []events.Measurement{{Set: 5, Task: 0, RecordsIn: 100, RecordsOut: 10, ShuffleWritten: 1000}},
	}, &events.Batch{Events: []events.Event{
		&events.TaskSetEnded{Time: at(6 * time.Second), Set: 5, State: events.StateFailed, Error: "task 1 failed"},
		&events.TaskSetSubmitted{Time: at(6 * time.Second), Set: 6, Job: 2, Stage: 3, Name: "map", Tasks: 1},
		&events.TaskSetEnded{Time: at(6 * time.Second), Set: 6, State: events.StateCancelled},
		&events.JobEnded{Time: at(7 * time.Second), Job: 2, State: events.StateFailed, Error: "task 1 failed"},
		&events.ExecutorLost{Time: at(8 * time.Second), ID: "1", Reason: "told to stop", Expected: true},
		&events.ApplicationEnded{Time: at(8 * time.Second), State: events.StateFailed},
	}})
	var kinds []string
	of := map[string][]map[string]any{}
	for _, line := range lines {
		kind := line["Event"].(string)
		kinds = append(kinds, kind)
		of[kind] = append(of[kind], line)
	}
	require.Equal(t, []string{
		"SparkListenerLogStart", "SparkListenerApplicationStart", "SparkListenerEnvironmentUpdate", "SparkListenerExecutorAdded",
		"SparkListenerJobStart", "SparkListenerStageSubmitted", "SparkListenerJobStart", "SparkListenerStageSubmitted",
		"SparkListenerTaskStart", "SparkListenerTaskEnd", "SparkListenerTaskStart", "SparkListenerTaskEnd", "SparkListenerTaskStart", "SparkListenerTaskEnd",
		"SparkListenerStageCompleted", "SparkListenerJobEnd",
		"SparkListenerStageSubmitted", "SparkListenerStageCompleted", "SparkListenerStageCompleted", "SparkListenerJobEnd",
		"SparkListenerExecutorRemoved", "SparkListenerApplicationEnd",
	}, kinds, "tasks come before the ends of their stages")
	get := func(kind string, index int, path ...string) any {
		value := any(of["SparkListener"+kind][index])
		for _, key := range path {
			value = value.(map[string]any)[key]
		}
		return value
	}
	require.Equal(t, "2", get("ApplicationStart", 0, "App Attempt ID"))
	require.Equal(t, "bob", get("EnvironmentUpdate", 0, "Spark Properties", "spark.ui.view.acls"))
	require.Equal(t, 1., get("JobStart", 0, "Stage Infos").([]any)[0].(map[string]any)["Number of Tasks"])
	require.Equal(t, []any{3., 4.}, get("JobStart", 1, "Stage IDs"))
	require.Equal(t, "ResultTask", get("TaskEnd", 0, "Task Type"))
	require.Equal(t, 990., get("TaskEnd", 0, "Task Metrics", "Executor Run Time"))
	require.Equal(t, float64(start.Add(2*time.Second).UnixMilli()), get("TaskEnd", 0, "Task Info", "Finish Time"))
	require.Equal(t, "node1", get("TaskEnd", 0, "Task Info", "Host"))
	require.Equal(t, "ShuffleMapTask", get("TaskEnd", 1, "Task Type"))
	require.Equal(t, 1000., get("TaskEnd", 1, "Task Metrics", "Shuffle Write Metrics", "Shuffle Bytes Written"))
	require.Equal(t, "ExceptionFailure", get("TaskEnd", 2, "Task End Reason", "Reason"))
	require.Equal(t, "no such file", get("TaskEnd", 2, "Task End Reason", "Description"))
	require.Equal(t, "task 1 failed", get("StageCompleted", 1, "Stage Info", "Failure Reason"))
	require.Equal(t, 1., get("StageCompleted", 2, "Stage Info", "Stage Attempt ID"))
	require.Equal(t, "words", get("StageCompleted", 0, "Stage Info", "Accumulables").([]any)[0].(map[string]any)["Name"])
	require.Equal(t, "JobFailed", get("JobEnd", 1, "Job Result", "Result"))
}
