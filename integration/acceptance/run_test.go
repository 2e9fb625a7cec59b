//go:build integration

package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// workingDirectory creates a directory with the given executable files, and returns its path.
func workingDirectory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755))
	}
	return dir
}

func TestRunACommandAsTasks(t *testing.T) {
	t.Parallel()
	dir := workingDirectory(t, map[string]string{
		"job.sh":   "#!/bin/sh\necho \"argument $1 index $TASK_INDEX of $TASK_COUNT, with $(cat data.txt)\"\necho \"to stderr\" >&2\n",
		"data.txt": "the data beside it\n",
	})
	done := commandLine{
		args:      []string{"run", "--tasks", "8", "--num-executors", "2", "--files", "data.txt", "--", "./job.sh", "<{index}>"},
		directory: dir,
	}.run(t)
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)
	assert.Regexp(t, `tasks +8 in 1 task set`, done.stderr)
	assert.Equal(t, "job.sh", application(t, id).Name)

	logs := yarnSubmit(t, "logs", id)
	require.Equal(t, 0, logs.code)
	for i := range 8 {
		said := fmt.Sprintf("argument <%d> index %d of 8, with the data beside it\nto stderr\n", i, i)
		assert.Regexp(t, fmt.Sprintf(`(?m)^==> task-%d-0\.out of executor [12] \(container_\S+, attempt 1, on `+nodePattern+`:\d+, %d bytes\) <==\n%s`,
			i, len(said), said), logs.stdout)
	}
	assertNothingLeft(t, id)
}

func TestRunReturnsTheExitStatus(t *testing.T) {
	t.Parallel()
	dir := workingDirectory(t, map[string]string{
		"job.sh": "#!/bin/sh\necho \"said by task $TASK_INDEX\"\n[ $TASK_INDEX != 2 ] || exit 7\n",
	})
	done := commandLine{args: []string{"run", "--tasks", "3", "--num-executors", "1", "--retries", "0", "--", "./job.sh"}, directory: dir}.run(t)
	assert.Equal(t, 7, done.code)
	id := done.applicationID(t)
	assert.Equal(t, "yarn-submit: "+id+" failed: command: task 2 exited with status 7", done.lastLine())
	assert.Contains(t, done.stderr, "\nsaid by task 2\n", "the output of the task that failed is shown")
	assert.NotContains(t, done.stderr, "said by task 1")
	assertNothingLeft(t, id)
}

func TestRunACommandThatWritesNoText(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "run", "--tasks", "1", "--num-executors", "1", "--retries", "0", "--", "sh", "-c", `printf '\377\376\000 bytes'; exit 3`)
	assert.Equal(t, 3, done.code)
	assert.Contains(t, done.stderr, " bytes\n")
	assert.Contains(t, done.lastLine(), "task 0 exited with status 3")
}

func TestRunRetries(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "run", "--tasks", "2", "--num-executors", "1", "--retries", "2", "--", "sh", "-c", "test {attempt} = 2 || exit 5")
	require.Equal(t, 0, done.code)
	assert.Regexp(t, `tasks +2 in 1 task set, 4 failed attempts`, done.stderr)

	done = yarnSubmit(t, "run", "--tasks", "1", "--num-executors", "1", "--retries", "1", "--", "sh", "-c", "test {attempt} = 2 || exit 5")
	assert.Equal(t, 5, done.code)
}

func TestRunACommandThatTheNodeLacks(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "run", "--tasks", "1", "--num-executors", "1", "--", "no-such-command", "argument")
	assert.Equal(t, 1, done.code)
	assert.Contains(t, done.lastLine(), `"no-such-command": executable file not found`)
	assertNothingLeft(t, done.applicationID(t))
}

func TestRunPassesArgumentsUnchanged(t *testing.T) {
	t.Parallel()
	odd := []string{"two words", "", "'", `"`, "$HOME", "`id`", `back\slash`, "{{PWD}}", "<LOG_DIR>", "*", "ä€", "new\nline", "{tasks}"}
	done := yarnSubmit(t, append([]string{"run", "--tasks", "1", "--num-executors", "1", "--", "printf", "%s|"}, odd...)...)
	require.Equal(t, 0, done.code)
	logs := yarnSubmit(t, "logs", done.applicationID(t))
	assert.Contains(t, logs.stdout, "two words||'|\"|$HOME|`id`|back\\slash|{{PWD}}|<LOG_DIR>|*|ä€|new\nline|1|")
}

func TestCommandsEndWithTheirApplication(t *testing.T) {
	t.Parallel()
	running := commandLine{args: []string{"run", "--tasks", "2", "--num-executors", "2", "--", "sh", "-c", "sleep 1000 & sleep 1000"}}.start(t)
	id := running.applicationID(t)
	awaitTasks(t, id, 2)
	require.Equal(t, 0, yarnSubmit(t, "kill", id).code)
	assert.Equal(t, 1, running.wait(t).code)
	assertNothingLeft(t, id)
}
