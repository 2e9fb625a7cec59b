//go:build integration

package acceptance

import (
	"context"
	"path"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// killRole waits until a process of the program census has the given role in the application,
// and kills it.
func killRole(t *testing.T, id string, role launch.Role) {
	t.Helper()
	await(t, string(role)+" of "+id, func(context.Context) bool {
		found := processesInRole(id, role, "census")
		if len(found) == 0 {
			return false
		}
		require.NoError(t, syscall.Kill(found[0].pid, syscall.SIGKILL))
		return true
	})
}

// assertContinues lets a held word count continue after one of its processes was killed. It
// checks that the word count succeeds, that its output is complete and correct, and that
// nothing is left of the application.
func assertContinues(t *testing.T, h *heldCount) outcome {
	t.Helper()
	h.release(t)
	done := h.assertCorrect(t)
	assert.Equal(t, yarnrest.StatusSucceeded, application(t, h.id).FinalStatus)
	assertOutputComplete(t, h.out)
	assertNothingLeft(t, h.id)
	return done
}

func assertNoTemporaryFiles(t *testing.T, out string) {
	t.Helper()
	shared.assertNoTemporaryFiles(t, out)
}

// assertNoTemporaryFiles checks that no task attempt has left uncommitted files beside the
// output directory.
func (s *suite) assertNoTemporaryFiles(t *testing.T, out string) {
	t.Helper()
	parent, name := path.Split(out)
	beside, err := s.files.List(t.Context(), parent)
	require.NoError(t, err)
	for _, entry := range beside {
		if entry.Name != name {
			assert.NotContains(t, entry.Name, name)
		}
	}
}

func assertOutputComplete(t *testing.T, out string) {
	t.Helper()
	shared.assertOutputComplete(t, out)
}

// assertOutputComplete checks that an output directory contains only part files, _SUCCESS and
// the mark of the application that has committed it.
func (s *suite) assertOutputComplete(t *testing.T, out string) {
	t.Helper()
	entries, err := s.files.List(t.Context(), out)
	require.NoError(t, err)
	for _, entry := range entries {
		assert.Regexp(t, `^(part-\d{5}|_SUCCESS|\.committed-by-.*)$`, entry.Name)
		assert.False(t, entry.Dir, entry.Path)
	}
	s.assertNoTemporaryFiles(t, out)
}

func TestCountsAreCorrectAfterExecutorIsKilled(t *testing.T) {
	t.Parallel()
	for _, when := range []waitPoint{whileCounting, whileWriting} {
		t.Run(string(when), func(t *testing.T) {
			t.Parallel()
			h := shared.startHeldCount(t, sourcesText(t), when)
			h.awaitWaitPoint(t)
			killRole(t, h.id, launch.RoleExecutor)
			assert.Contains(t, assertContinues(t, h).stderr, "1 lost")
		})
	}
}

func TestCountsAreCorrectAfterApplicationMasterIsKilled(t *testing.T) {
	t.Parallel()
	const starting waitPoint = "starting"
	for _, when := range []waitPoint{starting, whileCounting, whileWriting} {
		t.Run(string(when), func(t *testing.T) {
			t.Parallel()
			var h *heldCount
			if when == starting {
				h = shared.startHeldCount(t, sourcesText(t), whileCounting)
			} else {
				h = shared.startHeldCount(t, sourcesText(t), when)
				h.awaitWaitPoint(t)
			}
			var shown time.Time
			if when == whileCounting {
				shown = awaitLogged(t, h.id)
			}
			killRole(t, h.id, launch.RoleAM)
			assertContinues(t, h)
			assert.Len(t, attempts(t, h.id), 2)
			if when == whileCounting {
				assertLogs(t, h.id, shown)
			}
		})
	}
}

// TestHungExecutorIsReplaced pauses an executor. Its connection to the driver stays open, so
// the driver can notice the pause only by missing heartbeats.
func TestHungExecutorIsReplaced(t *testing.T) {
	t.Parallel()
	signal := outputPath(t)
	running := commandLine{args: []string{"submit", "--num-executors", "2", "--conf", "network.timeout=10s", "--conf", "executor.heartbeatInterval=500ms",
		program("trouble"), "until", signal}}.start(t)
	id := running.applicationID(t)
	awaitTasks(t, id, 2)
	hung := processesInRole(id, launch.RoleExecutor, "trouble")[0]
	require.NoError(t, syscall.Kill(hung.pid, syscall.SIGSTOP))
	awaitStatus(t, id, "another executor runs its task", func(status page.Status) bool {
		return status.Tasks.Failed >= 1 && status.Tasks.Running == 2 // on a busy machine the other executor can be lost as well
	})
	await(t, "the hung executor's container is given back", func(context.Context) bool {
		return !slices.ContainsFunc(processes(id), func(p process) bool { return p.container == hung.container })
	})
	require.NoError(t, shared.put(t.Context(), signal, nil))
	done := running.wait(t)
	assert.Equal(t, 0, done.code)
	assert.Regexp(t, `[1-9] lost`, done.stderr)
	assertNothingLeft(t, id)
}
