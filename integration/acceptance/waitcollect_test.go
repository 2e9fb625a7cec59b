//go:build integration

package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWaitCollectsOutputOfADetachedRun runs `yarn-submit run --detach` and `yarn-submit wait`
// in different directories, as two steps of a CI pipeline do.
func TestWaitCollectsOutputOfADetachedRun(t *testing.T) {
	t.Parallel()
	submitted := commandLine{directory: t.TempDir(), args: []string{"run", "--detach", "--collect", "*.csv=out", "--summary", "junit.xml", "--num-executors", "1",
		"--retries", "0", "--tasks", "2", "--", "sh", "-c", "echo {index} > {index}.csv; exit {index}"}}.run(t)
	require.Equal(t, 0, submitted.code)
	id := strings.TrimSpace(submitted.stdout)
	require.Regexp(t, `^application_\d+_\d+$`, id)

	workspace := t.TempDir()
	wait := func(args ...string) outcome {
		return commandLine{directory: workspace, args: append([]string{"wait"}, append(args, id)...)}.run(t)
	}
	unknown := wait("--collect", "*.txt=other")
	assert.NotEqual(t, 0, unknown.code)
	assert.Contains(t, unknown.stderr, "*.txt is no pattern that was given with the submission; those are: *.csv")

	done := wait("--summary", "reports/junit.xml")
	assert.Equal(t, 1, done.code, "the second task's")
	for name, content := range map[string]string{"out/0/0.csv": "0\n", "out/1/1.csv": "1\n"} {
		text, err := os.ReadFile(filepath.Join(workspace, name))
		require.NoError(t, err)
		assert.Equal(t, content, string(text))
	}
	junit, err := os.ReadFile(filepath.Join(workspace, "reports", "junit.xml"))
	require.NoError(t, err)
	assert.Contains(t, string(junit), `tests="2" failures="1"`)
	assertNothingLeft(t, id)

	again := wait("--collect", "*.csv=out")
	assert.Equal(t, 1, again.code)
	assert.Contains(t, again.stderr, "no results are kept in ")
	assert.Contains(t, again.lastLine(), id+" failed: ", "the application's own end comes last")

	plain := submitDetached(t, "run", "--detach", "--tasks", "1", "--num-executors", "1", "--", "true")
	refused := yarnSubmit(t, "wait", "--collect", "*=out", plain)
	assert.Equal(t, 2, refused.code)
	assert.Contains(t, refused.stderr, plain+" keeps nothing to collect")
	assert.Equal(t, 0, yarnSubmit(t, "wait", plain).code)
}
