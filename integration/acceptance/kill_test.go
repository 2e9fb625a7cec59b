//go:build integration

package acceptance

import (
	"path"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// countSlowly starts a word count of many small tasks, and returns when some of
// them are done, some run on every executor, and most are still to come.
func countSlowly(t *testing.T, in corpus, out string) (running *submitted, id string) {
	t.Helper()
	const split = 128 << 10
	running = call{args: []string{"submit", "--num-executors", "2", program("wordcount"), "-split", strconv.Itoa(split), in.path, out}}.start(t)
	id = running.applicationID(t)
	awaitStatus(t, id, "both executors run tasks", func(status am.Status) bool {
		busy := 0
		for _, executor := range status.Details {
			if executor.Running > 0 && executor.Done > 0 {
				busy++
			}
		}
		return busy == 2
	})
	return running, id
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
	in, out := sourcesText(t), output(t)
	running, id := countSlowly(t, in, out)
	executors := inRole(id, launch.RoleExecutor, "wordcount")
	require.Len(t, executors, 2)
	require.NoError(t, syscall.Kill(executors[0].pid, syscall.SIGKILL))

	done := running.wait(t)
	require.Equal(t, 0, done.code)
	assert.Contains(t, done.stderr, "1 lost", "the executor was killed in the middle")
	assertCounts(t, in.words, out)
	assertComplete(t, out)
	assertNothingLeft(t, id)
}

func TestKilledApplicationMasterCostsNoCounts(t *testing.T) {
	in, out := sourcesText(t), output(t)
	running, id := countSlowly(t, in, out)
	masters := inRole(id, launch.RoleAM, "wordcount")
	require.Len(t, masters, 1)
	require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGKILL))

	done := running.wait(t)
	require.Equal(t, 0, done.code)
	tries := attempts(t, id)
	require.Len(t, tries, 2)
	assert.Equal(t, "FAILED", tries[0].State)
	assert.Equal(t, yarnrest.StatusSucceeded, application(t, id).FinalStatus)
	assertCounts(t, in.words, out)
	assertComplete(t, out)
	assertNothingLeft(t, id)
}
