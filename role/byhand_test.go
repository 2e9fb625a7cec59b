package role

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestGivenSettings(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "bobbin-defaults.conf"), []byte("executor.cores 5\nyarn.queue batch\n"), 0o600))
	t.Setenv("BOBBIN_CONF_DIR", directory)
	t.Setenv("BOBBIN_EXECUTOR_CORES", "7")
	t.Setenv("BOBBIN_LAUNCH_PROPERTIES", `{"executor.cores":"3","hadoop.a":"b"}`)
	t.Setenv("BOBBIN_LAUNCH_ORIGINS", `{"executor.cores":"the command line"}`)
	settings, err := settingsFromSubmitter()
	require.NoError(t, err)
	require.Equal(t, "the command line", settings.Source("executor.cores"))
	require.Equal(t, "the submission", settings.Source("hadoop.a"))
	require.Equal(t, map[string]string{"executor.cores": "3", "hadoop.a": "b"}, settings.Map(), "yarn-submit has read the environment and the defaults file")
	for _, variable := range []string{"BOBBIN_LAUNCH_PROPERTIES", "BOBBIN_LAUNCH_ORIGINS"} {
		_, set := os.LookupEnv(variable)
		require.False(t, set, "it is not for what the program starts")
	}
	settings, err = settingsFromSubmitter()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"executor.cores": "7", "yarn.queue": "batch"}, settings.Map())

	t.Setenv("BOBBIN_LAUNCH_PROPERTIES", "nonsense")
	_, err = settingsFromSubmitter()
	require.ErrorContains(t, err, "BOBBIN_LAUNCH_PROPERTIES")
}

func TestGivenDriverID(t *testing.T) {
	t.Setenv("BOBBIN_LAUNCH_DRIVER_ID", "driver-1")
	for _, want := range []string{"driver-1", ""} {
		id, err := driverIDFromWorker()
		require.NoError(t, err)
		require.Equal(t, want, id)
	}
}

func TestSettingsOverrideTheHadoopConfiguration(t *testing.T) {
	settings, err := config.FromMap(map[string]string{"hadoop.fs.defaultFS": "hdfs://mine"})
	require.NoError(t, err)
	directory := t.TempDir()
	site := "<configuration><property><name>fs.defaultFS</name><value>hdfs://site</value></property></configuration>"
	require.NoError(t, os.WriteFile(filepath.Join(directory, "core-site.xml"), []byte(site), 0o600))
	for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME"} {
		t.Setenv(name, "")
	}
	for _, there := range []string{"", directory} {
		t.Setenv("HADOOP_CONF_DIR", there)
		hadoop, err := client.HadoopConfig(settings)
		require.NoError(t, err)
		require.Equal(t, "hdfs://mine", hadoop.DefaultFS())
	}
}

func TestAProgramStartedByHandReportsItsEnd(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("BOBBIN_MASTER", "local[2]")
	logger, stderr := slog.Default(), os.Stderr
	defer func() { os.Stderr = stderr; slog.SetDefault(logger) }()
	failure := errors.New("no such luck")
	for name, test := range map[string]struct {
		level   string
		failure error
		logged  bool
		status  string
	}{
		"success": {"", nil, false, "SUCCEEDED"}, "failure": {"", failure, false, "FAILED"}, "with its log": {"info", nil, true, "SUCCEEDED"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.level != "" {
				t.Setenv("BOBBIN_LOG_LEVEL", test.level)
			}
			file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
			require.NoError(t, err)
			defer file.Close()
			os.Stderr = file
			err = runByHand(func(ctx context.Context) error {
				slog.Info("the program's own message")
				require.Eventually(t, func() bool { return FromContext(ctx).Driver.Status().Totals.Executors == 1 }, time.Minute, time.Millisecond)
				return test.failure
			})
			require.ErrorIs(t, err, test.failure)
			said, err := os.ReadFile(file.Name())
			require.NoError(t, err)
			require.Regexp(t, `(?m)^local-[0-9a-f]+ `+test.status+` after `, string(said))
			require.Contains(t, string(said), "the program's own message")
			require.Equal(t, test.logged, strings.Contains(string(said), "executor registered"), "%s", said)
		})
	}
}

func TestInvalidMastersAreUsageErrors(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for master, text := range map[string]string{
		"yarn":         "yarn-submit submit",
		"bobbin://one": protocol.ErrNoSecret.Error(),
		"bobbin://":    "it names no host",
		"mesos://one":  "bobbin://HOST:PORT",
	} {
		t.Setenv("BOBBIN_MASTER", master)
		err := runByHand(func(context.Context) error { return nil })
		require.ErrorContains(t, err, text, master)
		require.Equal(t, client.ExitUsage, exitStatus(err), master)
	}
}
