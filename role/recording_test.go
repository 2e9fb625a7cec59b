package role

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/storage"
)

func TestMain(m *testing.M) {
	function.Register("fail", func(context.Context, function.Call) ([]byte, error) { return nil, errors.New("no such file") })
	function.Register("succeed", func(context.Context, function.Call) ([]byte, error) { return nil, nil })
	leaktest.Main(m)
}

// TestFirstSnapshotHasTheApplication checks that a page contains the application even if the page
// is requested as soon as its server starts.
func TestFirstSnapshotHasTheApplication(t *testing.T) {
	settings, err := config.FromMap(map[string]string{"master": "local[2]", "app.name": "count"})
	require.NoError(t, err)
	recording := startRecording(driverOptions{settings: settings, logger: slog.New(slog.DiscardHandler)})
	defer recording.close()
	first := recording.recorder.Snapshot()
	require.Equal(t, "count", first.Application.Name)
	require.False(t, first.Latest.IsZero(), "the version of a page is made of it")
}

func TestLocalRunWritesItsLog(t *testing.T) {
	directory := t.TempDir()
	spark, report := t.TempDir(), filepath.Join(t.TempDir(), "report.html")
	settings, err := config.FromMap(map[string]string{
		"master": "local[2]", "app.name": "count", "eventLog.dir": "file://" + directory, "eventLog.spark.dir": "file://" + spark, "executorEnv.MY_TOKEN": "hush",
	})
	require.NoError(t, err)
	t.Setenv(launch.EnvReportFile, report)
	failure := RunLocal(t.Context(), settings, func(ctx context.Context) error {
		FromContext(ctx).SessionCreated()
		for _, err := range FromContext(ctx).Driver.Run(ctx, driver.TaskSet{Name: "fails", Function: "fail", Tasks: make([]driver.Task, 1)}) {
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.ErrorContains(t, failure, "no such file")

	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	logs, err := eventlog.List(t.Context(), files, directory)
	require.NoError(t, err)
	require.Len(t, logs, 1)
	require.Equal(t, events.StateFailed, logs[0].State)
	model, truncated, err := eventlog.Load(t.Context(), files, logs[0].Path, events.Limits{})
	require.NoError(t, err)
	require.False(t, truncated)
	s := model.Snapshot()
	require.Equal(t, "count", s.Application.Name)
	require.Equal(t, "local[2]", s.Application.Master)
	require.Equal(t, events.StateFailed, s.Application.State)
	require.Contains(t, s.Application.Error, "no such file")
	require.Len(t, s.Jobs, 1)
	require.Equal(t, events.StateFailed, s.Jobs[0].State)
	require.Len(t, s.Failures, 1)
	require.Equal(t, "no such file", s.Failures[0].Message)
	require.Contains(t, s.Application.Settings, events.Setting{Key: "executorEnv.MY_TOKEN", Value: config.Redacted, Source: "the submission"})

	content, err := os.ReadFile(filepath.Join(directory, filepath.Base(logs[0].Path)))
	require.NoError(t, err)
	decoder, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer decoder.Close()
	lines, err := decoder.DecodeAll(content, nil)
	require.NoError(t, err)
	require.NotContains(t, string(lines), "hush")

	written, err := filepath.Glob(filepath.Join(spark, "local-*_1.zstd"))
	require.NoError(t, err)
	require.Len(t, written, 1, "the log in Spark's format is complete")
	content, err = os.ReadFile(report)
	require.NoError(t, err)
	require.Contains(t, string(content), "no such file")
	require.NotContains(t, string(content), "hush")
}

func TestStatesOfApplications(t *testing.T) {
	for state, test := range map[string]struct{ cause, err error }{
		events.StateSucceeded: {nil, nil},
		events.StateFailed:    {errors.New("too many executors failed"), errors.New("no result")},
		events.StateKilled:    {&am.KilledError{Application: "application_1", User: "alice"}, errors.New("no result")},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(test.cause)
		r := &recording{}
		r.driverReturned(ctx, test.err)
		require.Equal(t, state, r.state)
	}
}

func TestWhereLogsAreWritten(t *testing.T) {
	hdfs, disk := conf.FromMap(map[string]string{"fs.defaultFS": "hdfs://c"}), conf.FromMap(map[string]string{"fs.defaultFS": "file:///"})
	for _, test := range []struct {
		name            string
		settings        map[string]string
		onYARN          bool
		hadoop          *conf.Config
		directory, home string
	}{
		{"YARN", nil, true, hdfs, "/user/alice/.bobbin/history", "/user/alice"},
		{"chosen", map[string]string{"eventLog.dir": "hdfs://c/logs"}, true, hdfs, "hdfs://c/logs", ""},
		{"chosen elsewhere", map[string]string{"eventLog.dir": "file:///logs"}, false, nil, "file:///logs", ""},
		{"turned off", map[string]string{"eventLog.dir": "/logs", "eventLog.enabled": "false"}, true, hdfs, "", ""},
		{"no HDFS", nil, true, disk, "", ""},
		{"not on YARN", nil, false, hdfs, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			settings, err := config.FromMap(test.settings)
			require.NoError(t, err)
			files := storage.New(storage.Options{})
			defer func() { require.NoError(t, files.Close()) }()
			directory, home := logDirectory(driverOptions{user: "alice", settings: settings, onYARN: test.onYARN, hadoop: test.hadoop, files: files, logger: slog.Default()})
			require.Equal(t, test.directory, directory)
			require.Equal(t, test.home, home)
		})
	}
}
