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

// buildOfOtherSize writes a copy of yarn-submit with a different size to path. It returns the
// line that the command looksAbove prints when it runs below this copy.
func buildOfOtherSize(t *testing.T, path string) (finds string) {
	t.Helper()
	content, err := os.ReadFile(program("yarn-submit"))
	require.NoError(t, err)
	content = append(content, "another build"...)
	require.NoError(t, os.WriteFile(path, content, 0o755))
	return fmt.Sprintf("runs below %d bytes\n", len(content))
}

var looksAbove = []string{"sh", "-c", `stat -L -c 'runs below %s bytes' /proc/$PPID/exe`}

// TestRunSendsTheBuildForTheNodes submits with one build of yarn-submit and sends another build
// to the cluster, as is necessary on a Mac.
func TestRunSendsTheBuildForTheNodes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "for-the-nodes")
	finds := buildOfOtherSize(t, path)
	done := commandLine{args: append([]string{"run", "--program", path, "--tasks", "2", "--num-executors", "1", "--"}, looksAbove...)}.run(t)
	require.Equal(t, 0, done.code, done.stderr)
	id := done.applicationID(t)
	logs := yarnSubmit(t, "logs", id)
	assert.Contains(t, logs.stdout, finds)
	assertNothingLeft(t, id)
}

func TestRunInClientModeSendsTheBuildForTheNodes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "for-the-nodes")
	finds := buildOfOtherSize(t, path)
	done := commandLine{args: append([]string{"run", "--program", path, "--deploy-mode", "client", "--conf", "driver.host=" + shared.driverHost, "--tasks", "2", "--num-executors", "1", "--"}, looksAbove...)}.run(t)
	require.Equal(t, 0, done.code, done.stderr)
	id := idPattern.FindString(done.stdout + done.stderr)
	require.NotEmpty(t, id)
	logs := yarnSubmit(t, "logs", id)
	assert.Contains(t, logs.stdout, finds)
	assertNothingLeft(t, id)
}
