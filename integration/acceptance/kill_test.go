//go:build integration

package acceptance

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// countSlowly starts a word count of many small tasks and of many parts.
func countSlowly(t *testing.T, in corpus, out string) (running *submitted, id string) {
	t.Helper()
	const split, parts = 128 << 10, 40
	running = call{args: []string{"submit", "--num-executors", "2", program("wordcount"),
		"-split", strconv.Itoa(split), "-parts", strconv.Itoa(parts), in.path, out}}.start(t)
	return running, running.applicationID(t)
}

// moments are when a process of a word count is killed. Where the machine is busy
// a moment may pass unseen: they tell whether it has come.
var moments = map[string]func(t *testing.T, id string) bool{
	"starting": func(*testing.T, string) bool { return true },
	// Some tasks are done, some run on both executors, and most are still to come.
	"counting": func(t *testing.T, id string) bool {
		_, seen := shared.sees(t, id, "both executors run tasks", func(status am.Status) bool {
			busy := 0
			for _, executor := range status.Details {
				if executor.Running > 0 && executor.Done > 0 {
					busy++
				}
			}
			return busy == 2
		})
		return seen
	},
	// Parts of the output are being written.
	"writing": func(t *testing.T, id string) bool {
		_, seen := shared.sees(t, id, "parts are written", func(status am.Status) bool {
			return len(status.TaskSets) == 2 && status.TaskSets[1].Running > 0
		})
		return seen
	},
}

// killRole ends a process of an application as kill -9 does, once there is one;
// there is none any more where the application has ended.
func killRole(t *testing.T, id string, role launch.Role) {
	t.Helper()
	await(t, string(role)+" of "+id, func(ctx context.Context) bool {
		if found := inRole(id, role, "wordcount"); len(found) > 0 {
			err := syscall.Kill(found[0].pid, syscall.SIGKILL)
			return err == nil || assert.ErrorIs(t, err, syscall.ESRCH)
		}
		known, err := shared.rest.Application(ctx, id)
		return err == nil && known.State.Ended()
	})
}

// countsThoughKilled counts words and kills a process at a moment, until it was
// in time to cost something.
func countsThoughKilled(t *testing.T, moment string, role launch.Role, cost func(t *testing.T, id string, done outcome) bool) {
	t.Helper()
	in := sourcesText(t)
	const tries = 10
	for range tries {
		out := output(t)
		running, id := countSlowly(t, in, out)
		if moments[moment](t, id) {
			killRole(t, id, role)
		}
		done := running.wait(t)
		require.Equal(t, 0, done.code)
		assert.Equal(t, yarnrest.StatusSucceeded, application(t, id).FinalStatus)
		assertCounts(t, in.words, out)
		assertComplete(t, out)
		assertNothingLeft(t, id)
		if cost(t, id, done) {
			return
		}
	}
	require.FailNow(t, "killing costs nothing", "%s while %s, %d times", role, moment, tries)
}

// assertNoneTemporary checks that nothing stands beside an output, where its
// attempts keep what they have not committed.
func assertNoneTemporary(t *testing.T, out string) {
	t.Helper()
	parent, name := path.Split(out)
	beside, err := shared.files.List(t.Context(), parent)
	require.NoError(t, err)
	for _, entry := range beside {
		if entry.Name != name {
			assert.NotContains(t, entry.Name, name)
		}
	}
}

// assertComplete checks that an output holds what belongs there and no more.
func assertComplete(t *testing.T, out string) {
	t.Helper()
	entries, err := shared.files.List(t.Context(), out)
	require.NoError(t, err)
	for _, entry := range entries {
		assert.Regexp(t, `^(part-\d{5}|_SUCCESS|\.committed-by-.*)$`, entry.Name)
		assert.False(t, entry.Dir, entry.Path)
	}
	assertNoneTemporary(t, out)
}

func TestKilledExecutorCostsNoCounts(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"counting", "writing"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			countsThoughKilled(t, moment, launch.RoleExecutor, func(_ *testing.T, _ string, done outcome) bool {
				return strings.Contains(done.stderr, "1 lost")
			})
		})
	}
}

func TestKilledApplicationMasterCostsNoCounts(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"starting", "counting", "writing"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			countsThoughKilled(t, moment, launch.RoleAM, func(t *testing.T, id string, _ outcome) bool {
				return len(attempts(t, id)) == 2
			})
		})
	}
}

// TestHungExecutorIsReplaced stops an executor that goes on holding its
// connection.
func TestHungExecutorIsReplaced(t *testing.T) {
	t.Parallel()
	signal := output(t)
	running := call{args: []string{"submit", "--num-executors", "2", "--conf", "network.timeout=10s", "--conf", "executor.heartbeatInterval=500ms",
		program("trouble"), "until", signal}}.start(t)
	id := running.applicationID(t)
	awaitTasks(t, id, 2)
	hung := inRole(id, launch.RoleExecutor, "trouble")[0]
	require.NoError(t, syscall.Kill(hung.pid, syscall.SIGSTOP))
	awaitStatus(t, id, "another executor runs its task", func(status am.Status) bool {
		return status.Tasks.Failed == 1 && status.Tasks.Running == 2
	})
	await(t, "the hung executor's container is given back", func(context.Context) bool {
		return !slices.ContainsFunc(processes(id), func(p process) bool { return p.container == hung.container })
	})
	require.NoError(t, shared.put(t.Context(), signal, nil))
	done := running.wait(t)
	assert.Equal(t, 0, done.code)
	assert.Contains(t, done.stderr, "1 lost")
	assertNothingLeft(t, id)
}
