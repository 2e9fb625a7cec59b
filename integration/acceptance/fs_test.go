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

// TestFilesWithFSCommands copies a directory to HDFS and back by `yarn-submit fs`, with the
// flags of `hadoop fs`.
func TestFilesWithFSCommands(t *testing.T) {
	t.Parallel()
	here := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(here, "tree/below"), 0o700))
	text := strings.Repeat("a line\n", 100_000)
	require.NoError(t, os.WriteFile(filepath.Join(here, "tree/below/text"), []byte(text), 0o600))
	base := shared.data + "/by-commands"
	fs := func(args ...string) string {
		t.Helper()
		done := yarnSubmit(t, append([]string{"fs"}, args...)...)
		require.Equal(t, 0, done.code, done.stderr)
		return done.stdout
	}
	fs("mkdir", "-p", base)
	fs("put", filepath.Join(here, "tree"), base)
	assert.Regexp(t, `(?m)^-rw-r--r--  \S+ +700.0 kB  .*/tree/below/text$`, fs("ls", "-R", "-h", base))
	assert.Contains(t, fs("du", "-s", base+"/tr*"), "700000  ")
	assert.Equal(t, "a line\na line\n", fs("head", "-n", "2", base+"/{tree/below,x}/text"))
	fs("get", base+"/tree", filepath.Join(here, "back"))
	back, err := os.ReadFile(filepath.Join(here, "back/below/text"))
	require.NoError(t, err)
	assert.True(t, text == string(back))
	exists := yarnSubmit(t, "fs", "put", filepath.Join(here, "tree/below/text"), base+"/tree/below/text")
	assert.Equal(t, 1, exists.code)
	assert.Contains(t, exists.stderr, "file already exists: -f replaces it")
	fs("rm", "-R", base+"/tree")
	assert.Empty(t, fs("ls", base))
}
