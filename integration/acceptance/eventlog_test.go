//go:build integration

package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// logOf returns the event log of an attempt of an application, or nil if none exists.
func logOf(ctx context.Context, t *testing.T, id string, attempt int) *eventlog.Entry {
	t.Helper()
	entries, err := eventlog.List(ctx, shared.files, home(t)+"/.bobbin/history")
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.Application == id && entry.Attempt == attempt {
			return &entry
		}
	}
	return nil
}

// readEvents returns the state of the application after all events that the log contains.
func readEvents(ctx context.Context, t *testing.T, log *eventlog.Entry) *events.Snapshot {
	t.Helper()
	model, _, err := eventlog.Load(ctx, shared.files, log.Path, events.Limits{})
	require.NoError(t, err)
	return model.Snapshot()
}

// liveVersion matches the time of the latest event that a page shows, in Unix microseconds.
var liveVersion = regexp.MustCompile(`data-version="(\d+)`)

// awaitLogged fetches the application's page from its first ApplicationMaster. It waits until
// the event log has every event that the page shows, and two running tasks, which wait for
// their release. It returns the time of the latest event on the page.
func awaitLogged(t *testing.T, id string) (shown time.Time) {
	t.Helper()
	content, err := shared.rest.Proxy(t.Context(), id, "/")
	require.NoError(t, err)
	live := liveVersion.FindSubmatch(content)
	require.NotNil(t, live, "%s", content)
	micros, err := strconv.ParseInt(string(live[1]), 10, 64)
	require.NoError(t, err)
	shown = time.UnixMicro(micros)
	await(t, "the event log of "+id+" has what its pages showed", func(ctx context.Context) bool {
		log := logOf(ctx, t, id, 1)
		if log == nil {
			return false
		}
		state := readEvents(ctx, t, log)
		return !state.Latest.Before(shown) && state.Totals.Done > 0 && len(state.RunningAttempts()) == 2
	})
	return shown
}

// assertLogs checks the event logs of an application whose first ApplicationMaster was killed
// after awaitLogged returned the time shown, and whose second attempt has succeeded.
func assertLogs(t *testing.T, id string, shown time.Time) {
	t.Helper()
	killed, ended := logOf(t.Context(), t, id, 1), logOf(t.Context(), t, id, 2)
	require.NotNil(t, killed)
	require.NotNil(t, ended)
	assert.Equal(t, events.StateRunning, killed.State)
	assert.Equal(t, events.StateSucceeded, ended.State)

	before := readEvents(t.Context(), t, killed)
	assert.Equal(t, id, before.Application.ID)
	assert.Equal(t, currentUser(t), before.Application.User)
	assert.Equal(t, events.StateRunning, before.Application.State)
	assert.Positive(t, before.Totals.Done)
	assert.False(t, before.Latest.Before(shown), "what the pages showed is not lost")
	assert.Len(t, before.RunningAttempts(), 2)
	assert.Equal(t, 2, before.Totals.Registered)

	after := readEvents(t.Context(), t, ended)
	assert.Equal(t, events.StateSucceeded, after.Application.State)
	assert.Equal(t, after.Totals.Tasks, after.Totals.Done)
	assert.Zero(t, after.Totals.Running)
	assert.Empty(t, after.Failures)
	for _, job := range after.Jobs {
		assert.Equal(t, events.StateSucceeded, job.State)
	}
	require.Len(t, after.Executors, 2)
	for _, executor := range after.Executors {
		assert.False(t, executor.Allocated.IsZero())
		assert.False(t, executor.Launched.Before(executor.Allocated))
		assert.False(t, executor.Registered.Before(executor.Allocated))
		assert.True(t, executor.Expected)
	}
	summary, err := eventlog.LoadSummary(t.Context(), shared.files, ended.Path)
	require.NoError(t, err)
	require.NotNil(t, summary)
	// The log's summary must equal the state that results from reading all events.
	live, err := json.Marshal(summary)
	require.NoError(t, err)
	read, err := json.Marshal(after)
	require.NoError(t, err)
	assert.JSONEq(t, string(live), string(read))
}

// TestAKilledDriverLosesAtMostFiveSecondsOfItsLog kills the ApplicationMaster of an application
// in which tasks start and end all the time.
func TestAKilledDriverLosesAtMostFiveSecondsOfItsLog(t *testing.T) {
	id := submitDetached(t, "run", "--detach", "--tasks", "100000", "--num-executors", "1", "--executor-cores", "2", "--conf", "yarn.maxAppAttempts=1",
		"--", "sleep", "0.1")
	// The tasks take more than 5 s, so that some of them must be in the log.
	awaitStatus(t, id, "120 tasks are done", func(status page.Status) bool { return status.Tasks.Done >= 120 })
	masters := processesInRole(id, launch.RoleAM, "yarn-submit")
	require.Len(t, masters, 1)
	killed := time.Now()
	require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGKILL))
	awaitState(t, id, yarnrest.StateFailed)
	log := logOf(t.Context(), t, id, 1)
	require.NotNil(t, log)
	assert.Equal(t, events.StateRunning, log.State)
	state := readEvents(t.Context(), t, log)
	assert.Positive(t, state.Totals.Done)
	assert.LessOrEqual(t, killed.Sub(state.Latest), 5*time.Second, "the log lacks the last seconds before the kill")
	assertNothingLeft(t, id)
}

// assertHistory reads the logs of two applications that have ended, with the commands for it. The
// first has succeeded, and the second has failed.
func assertHistory(t *testing.T, good, bad string) {
	t.Helper()
	listed := yarnSubmit(t, "history")
	assert.Equal(t, 0, listed.code)
	assert.Regexp(t, good+` +1 +succeeded `, listed.stdout)
	assert.Regexp(t, bad+` +1 +failed `, listed.stdout)

	serving := commandLine{args: []string{"history", bad}}.start(t)
	first := <-serving.id // the first line of stdout
	require.Regexp(t, `^http://`, first)
	await(t, "the page shows the whole log", func(context.Context) bool { return !strings.Contains(pageAt(t, first), "still being read") })
	assert.Contains(t, pageAt(t, first), "task 0 exited with status 7")
	serving.signal(t, os.Interrupt)
	assert.Equal(t, 0, serving.wait(t).code)

	compared := yarnSubmit(t, "history", "compare", good, bad)
	assert.Equal(t, 0, compared.code)
	assert.Regexp(t, `state +succeeded +failed`, compared.stdout)

	report := filepath.Join(t.TempDir(), "report.html")
	assert.Equal(t, 0, yarnSubmit(t, "report", bad, "-o", report).code)
	content, err := os.ReadFile(report)
	require.NoError(t, err)
	assert.Contains(t, string(content), "task 0 exited with status 7")

	// The documented way to read a log with other programs.
	log := logOf(t.Context(), t, good, 1)
	require.NotNil(t, log)
	file, err := shared.files.Open(t.Context(), log.Path)
	require.NoError(t, err)
	compressed, err := io.ReadAll(io.NewSectionReader(file, 0, log.Size))
	require.NoError(t, err)
	require.NoError(t, file.Close())
	filter := exec.CommandContext(t.Context(), "sh", "-c", `zstdcat | jq -r 'select(.type == "jobEnded") | .state'`)
	filter.Stdin = bytes.NewReader(compressed)
	states, err := filter.CombinedOutput()
	require.NoError(t, err, "%s", states)
	assert.Equal(t, "succeeded\n", string(states))
}
