//go:build integration

package acceptance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// startWaiting submits an application with a staged file and two tasks that never end. It
// returns when both tasks run.
func startWaiting(t *testing.T) (running *submitted, id string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "small.txt")
	require.NoError(t, os.WriteFile(file, []byte("small\n"), 0o644))
	running = commandLine{args: []string{"submit", "--num-executors", "2", "--files", file, program("trouble"), "wait", "2"}}.start(t)
	id = running.applicationID(t)
	awaitTasks(t, id, 2)
	_, err := shared.files.Stat(t.Context(), home(t)+"/.bobbin/staging/"+id+"/small.txt")
	require.NoError(t, err, "the file is staged for this application alone")
	return running, id
}

// assertKilled checks that yarn-submit reports that the user named by killed the application.
func assertKilled(t *testing.T, done outcome, id, by string) {
	t.Helper()
	assert.Equal(t, 1, done.code)
	assert.Contains(t, done.stderr, id+" KILLED after ")
	assert.Contains(t, done.lastLine(), "yarn-submit: "+id+" was killed by user "+by)
	assert.Equal(t, yarnrest.StateKilled, application(t, id).State)
	assertNothingLeft(t, id)
}

func TestApplicationKilledByAnotherYarnSubmit(t *testing.T) {
	t.Parallel()
	running, id := startWaiting(t)
	killing := yarnSubmit(t, "kill", id)
	assert.Equal(t, 0, killing.code)
	assert.Regexp(t, "^"+id+" is (?i:killed)\n", killing.stderr)
	done := running.wait(t)
	assertKilled(t, done, id, currentUser(t))
}

func TestApplicationKilledByREST(t *testing.T) {
	t.Parallel()
	running, id := startWaiting(t)
	require.NoError(t, shared.rest.Kill(t.Context(), id, "the cluster is needed for something else"))
	done := running.wait(t)
	assertKilled(t, done, id, currentUser(t))
	assert.Contains(t, done.lastLine(), "the cluster is needed for something else")
}

func TestInterruptedSubmissionKillsItsApplication(t *testing.T) {
	t.Parallel()
	running, id := startWaiting(t)
	running.signal(t, os.Interrupt)
	done := running.wait(t)
	assertKilled(t, done, id, currentUser(t))
	assert.Contains(t, done.stderr, "interrupted (Ctrl-C): killing "+id)
}

func TestTerminatedSubmissionKillsItsApplication(t *testing.T) {
	t.Parallel()
	running, id := startWaiting(t)
	running.signal(t, syscall.SIGTERM)
	assertKilled(t, running.wait(t), id, currentUser(t))
}

func TestApplicationOutlivesItsSubmission(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "small.txt")
	require.NoError(t, os.WriteFile(file, []byte("small\n"), 0o644))
	h := shared.startHeldCount(t, sourcesText(t), whileCounting, "--files", file)
	id := h.id
	h.signal(t, syscall.SIGKILL)
	assert.Equal(t, -1, h.wait(t).code)
	require.False(t, application(t, id).State.Ended())

	h.release(t)
	known := awaitState(t, id, yarnrest.StateFinished)
	assert.Equal(t, yarnrest.StatusSucceeded, known.FinalStatus)
	assertCounts(t, h.in.words, h.out)
	await(t, "the ApplicationMaster removes what was staged", func(ctx context.Context) bool {
		_, err := shared.files.Stat(ctx, home(t)+"/.bobbin/staging/"+id)
		return errors.Is(err, fs.ErrNotExist)
	})
	assertNothingLeft(t, id)
}

func TestAnApplicationSucceedsWithoutAFollower(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--num-executors", "1", "--conf", "yarn.submit.waitAppCompletion=false", program("trouble"), "succeed", "3")
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)
	known := awaitState(t, id, yarnrest.StateFinished)
	assert.Equal(t, yarnrest.StatusSucceeded, known.FinalStatus)
	assertNothingLeft(t, id)
}
