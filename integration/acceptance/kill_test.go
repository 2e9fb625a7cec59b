//go:build integration

package acceptance

import (
	"context"
	"path"
	"slices"
	"strconv"
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

// awaitCounting returns when some tasks are done, some run on both executors,
// and most are still to come.
func awaitCounting(t *testing.T, id string) {
	t.Helper()
	awaitStatus(t, id, "both executors run tasks", func(status am.Status) bool {
		busy := 0
		for _, executor := range status.Details {
			if executor.Running > 0 && executor.Done > 0 {
				busy++
			}
		}
		return busy == 2
	})
}

// awaitWriting returns when parts of the output are being written.
func awaitWriting(t *testing.T, id string) {
	t.Helper()
	awaitStatus(t, id, "parts are written", func(status am.Status) bool {
		return len(status.TaskSets) == 2 && status.TaskSets[1].Running > 0
	})
}

// killRole ends a process of an application as kill -9 does.
func killRole(t *testing.T, id string, role launch.Role) {
	t.Helper()
	var found []process
	await(t, string(role)+" of "+id, func(context.Context) bool {
		found = inRole(id, role, "wordcount")
		return len(found) > 0
	})
	require.NoError(t, syscall.Kill(found[0].pid, syscall.SIGKILL))
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
	for name, awaitMoment := range map[string]func(*testing.T, string){"counting": awaitCounting, "writing": awaitWriting} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := sourcesText(t), output(t)
			running, id := countSlowly(t, in, out)
			awaitMoment(t, id)
			killRole(t, id, launch.RoleExecutor)

			done := running.wait(t)
			require.Equal(t, 0, done.code)
			assert.Contains(t, done.stderr, "1 lost", "the executor was killed in the middle")
			assertCounts(t, in.words, out)
			assertComplete(t, out)
			assertNothingLeft(t, id)
		})
	}
}

func TestKilledApplicationMasterCostsNoCounts(t *testing.T) {
	t.Parallel()
	for name, awaitMoment := range map[string]func(*testing.T, string){
		"starting": func(*testing.T, string) {}, "counting": awaitCounting, "writing": awaitWriting,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, out := sourcesText(t), output(t)
			running, id := countSlowly(t, in, out)
			awaitMoment(t, id)
			killRole(t, id, launch.RoleAM)

			done := running.wait(t)
			require.Equal(t, 0, done.code)
			assert.Len(t, attempts(t, id), 2)
			assert.Equal(t, yarnrest.StatusSucceeded, application(t, id).FinalStatus)
			assertCounts(t, in.words, out)
			assertComplete(t, out)
			assertNothingLeft(t, id)
		})
	}
}

// TestHungExecutorIsReplaced stops an executor that goes on holding its
// connection.
func TestHungExecutorIsReplaced(t *testing.T) {
	t.Parallel()
	signal := output(t)
	running := call{args: []string{"submit", "--num-executors", "2", "--conf", "network.timeout=3s", "--conf", "executor.heartbeatInterval=500ms",
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
