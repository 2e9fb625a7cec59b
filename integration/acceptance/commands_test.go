//go:build integration

package acceptance

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
)

// decodeStdout decodes the JSON on stdout. The test fails if the JSON has a field that T does
// not have.
func decodeStdout[T any](t *testing.T, done outcome) T {
	t.Helper()
	require.Equal(t, 0, done.code)
	assert.Empty(t, done.stderr)
	return decodeJSON[T](t, done.stdout)
}

func decodeJSON[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&value), "%s", text)
	require.False(t, decoder.More(), "it is one value")
	return value
}

type logFile struct {
	logs.File
	Content string `json:"content"`
}

func TestCommandsOnARunningApplication(t *testing.T) {
	t.Parallel()
	running := commandLine{args: []string{"submit", "--num-executors", "1", "--queue", "batch", "--name", "a name of two words", program("trouble"), "wait", "1"}}.start(t)
	id := running.applicationID(t)
	awaitTasks(t, id, 1)

	status := yarnSubmit(t, "status", id)
	require.Equal(t, 0, status.code)
	assert.Regexp(t, `(?m)^application +`+id+`$`, status.stdout)
	assert.Regexp(t, `(?m)^name +a name of two words$`, status.stdout)
	assert.Regexp(t, `(?m)^queue +(root\.)?batch$`, status.stdout)
	assert.Regexp(t, `(?m)^state +RUNNING$`, status.stdout)

	report := decodeStdout[client.Report](t, yarnSubmit(t, "status", "--json", id))
	assert.Equal(t, id, report.ApplicationID)
	assert.Equal(t, currentUser(t), report.User)
	assert.Equal(t, "RUNNING", report.State)
	assert.Equal(t, "UNDEFINED", report.FinalStatus)
	assert.Contains(t, report.TrackingURL, id)

	assert.Contains(t, yarnSubmit(t, "list", "--state", "running").stdout, id)
	assert.NotContains(t, yarnSubmit(t, "list", "--state", "FINISHED").stdout, id)
	assert.NotContains(t, yarnSubmit(t, "list", "--queue", "default").stdout, id)
	// The filters select this application among those of other tests, which also use the queue.
	listed := decodeStdout[[]client.ListedApplication](t, yarnSubmit(t, "list", "--json", "--queue", "batch", "--name", "a name of two words", "--limit", "1"))
	require.Len(t, listed, 1)
	assert.Equal(t, id, listed[0].ApplicationID)
	assert.Equal(t, "RUNNING", listed[0].State)

	logs := yarnSubmit(t, "logs", id)
	assert.Equal(t, 0, logs.code)
	assert.Contains(t, logs.stdout, "==> stderr of the driver (container_")
	assert.Contains(t, logs.stdout, "==> stderr of executor 1 (container_")

	killed := decodeStdout[client.Report](t, yarnSubmit(t, "kill", "--json", id))
	assert.Equal(t, id, killed.ApplicationID)
	assert.Equal(t, "KILLED", killed.State)
	assert.Equal(t, 1, running.wait(t).code)
	again := yarnSubmit(t, "kill", id)
	assert.Equal(t, 0, again.code, "it is killed, as was wanted")
}

func TestCommandsOnAFinishedApplication(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--json", "--num-executors", "1", program("trouble"), "flaky", "2")
	require.Equal(t, 0, done.code)
	report := decodeJSON[client.Report](t, done.stdout)
	id := report.ApplicationID
	assert.Equal(t, "FINISHED", report.State)
	assert.Equal(t, "SUCCEEDED", report.FinalStatus)
	assert.EqualValues(t, 1, report.Summary["tasks"])
	assert.EqualValues(t, 2, report.Summary["failed_attempts"])
	assert.EqualValues(t, 1, report.Summary["executors"])
	assert.False(t, report.Times.Submitted.IsZero())
	assert.False(t, report.Times.Finished.Before(report.Times.Submitted))

	later := decodeStdout[client.Report](t, yarnSubmit(t, "status", "--json", id))
	assert.Equal(t, report.Summary, later.Summary)
	assert.Equal(t, "SUCCEEDED", later.FinalStatus)
	status := yarnSubmit(t, "status", id)
	assert.Regexp(t, `(?m)^status +SUCCEEDED$`, status.stdout)
	assertNothingLeft(t, id) // the logs are complete when the containers have ended
	assert.Regexp(t, `(?m)^tasks +1 in 1 task set, 2 failed attempts$`, status.stdout)

	files := decodeStdout[[]logFile](t, yarnSubmit(t, "logs", "--json", id))
	said := map[string]string{}
	containers := map[string]string{}
	for _, file := range files {
		said[file.Executor+" "+file.Name] = file.Content
		containers[file.Executor] = file.Container
		assert.EqualValues(t, len(file.Content), file.Size)
		assert.Equal(t, 1, file.Attempt)
		assert.Regexp(t, `^`+nodePattern+`:\d+$`, file.Host)
	}
	assert.Equal(t, "succeeded in try 2\n", said["driver stdout"])
	assert.NotEmpty(t, said["driver stderr"])
	assert.NotEmpty(t, said["1 stderr"])

	one := yarnSubmit(t, "logs", "--container", containers["1"], "--tail", "1", id)
	require.Equal(t, 0, one.code)
	lines := strings.Split(strings.TrimSpace(said["1 stderr"]), "\n")
	assert.Contains(t, one.stdout, lines[len(lines)-1])
	assert.NotContains(t, one.stdout, lines[0])
	assert.NotContains(t, one.stdout, "of the driver")
	none := yarnSubmit(t, "logs", "--container", "container_1_0001_01_000001", id)
	assert.Equal(t, 3, none.code)
	assert.Contains(t, none.lastLine(), "no container container_1_0001_01_000001")
}

func TestReportOfAFailedApplicationAsJSON(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--json", "--num-executors", "1", program("trouble"), "return-error", "it went wrong")
	assert.Equal(t, 1, done.code)
	report := decodeJSON[client.Report](t, done.stdout)
	assert.Equal(t, "FAILED", report.FinalStatus)
	assert.Equal(t, "it went wrong", report.Message)
	assert.Equal(t, "it went wrong", report.Diagnostics)
	assert.Contains(t, done.lastLine(), "it went wrong")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	type version struct {
		Version, Revision, Go, Platform string
		Modified                        bool
	}
	told := decodeStdout[version](t, yarnSubmit(t, "version", "--json"))
	assert.NotEmpty(t, told.Version)
	assert.Regexp(t, `^go1\.\d+`, told.Go)
	assert.Equal(t, runtime.GOOS+"/"+runtime.GOARCH, told.Platform)
	assert.Contains(t, yarnSubmit(t, "version").stdout, told.Version)
}
