//go:build integration

package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/text"
)

func TestSameProgramRunsOnThisMachine(t *testing.T) {
	t.Parallel()
	in, out := sourcesText(t), outputPath(t)
	done := yarnSubmit(t, "submit", "--master", "local[2]", program("wordcount"), in.path, out)
	require.Equal(t, 0, done.code)
	assertCounts(t, in.words, out)
	assertNoTemporaryFiles(t, out)
}

func TestProgramStartedByHandNeedsNoCluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.txt"), filepath.Join(dir, "out")
	content := strings.Repeat("words from the disk\n", 1000)
	require.NoError(t, os.WriteFile(in, []byte(content), 0o644))
	command := exec.CommandContext(t.Context(), program("wordcount"), in, out)
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s", said)
	assert.Regexp(t, `(?m)^local-\S+ SUCCEEDED after .*\n  tasks +\d+ in 2 task sets$`, string(said))
	assert.NotContains(t, string(said), "level=INFO")
	counts, err := text.ReadCounts(t.Context(), shared.files, "file://"+out)
	require.NoError(t, err)
	assert.Empty(t, text.Difference(text.Count([]byte(content)), counts))

	again := exec.CommandContext(t.Context(), program("wordcount"), in, out)
	again.Env = command.Env
	said, err = again.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 1, exit.ExitCode())
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	assert.Contains(t, lines[len(lines)-1], "wordcount: output file://"+out+": file already exists")
}

func TestCommandsRunOnThisMachine(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "run", "--master", "local[2]", "--tasks", "3", "--", "sh", "-c", "echo task {index} of {tasks}")
	require.Equal(t, 0, done.code)
	for _, line := range []string{"task 0 of 3\n", "task 1 of 3\n", "task 2 of 3\n"} {
		assert.Contains(t, done.stdout, line)
	}
	failing := yarnSubmit(t, "run", "--master", "local[2]", "--tasks", "1", "--retries", "0", "--", "sh", "-c", "exit 9")
	assert.Equal(t, 9, failing.code)
	assert.Contains(t, failing.lastLine(), "task 0 exited with status 9")
}
