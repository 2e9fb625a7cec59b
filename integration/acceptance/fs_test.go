//go:build integration

package acceptance

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFilesWithFSCommands copies a directory to HDFS and back by `yarn-submit fs`, with the
// flags of `hadoop fs`. It also prints Avro and Parquet files in HDFS as JSON.
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
	for _, name := range []string{"avro/testdata/snappy.avro", "parquet/testdata/pyarrow-none.parquet"} {
		local, err := filepath.Abs("../../dataset/" + name)
		require.NoError(t, err)
		stored := base + "/tree/" + path.Base(path.Dir(path.Dir(name))) + "_0" // a name without the suffix
		fs("put", local, stored)
		want, got := strings.Split(fs("cat", "file://"+local), "\n"), strings.Split(fs("cat", stored), "\n")
		require.Len(t, got, len(want))
		for i := range len(want) - 1 {
			assert.JSONEq(t, want[i], got[i])
		}
		assert.JSONEq(t, want[0], fs("head", "-n", "1", stored))
	}
	exists := yarnSubmit(t, "fs", "put", filepath.Join(here, "tree/below/text"), base+"/tree/below/text")
	assert.Equal(t, 1, exists.code)
	assert.Contains(t, exists.stderr, "file already exists: -f replaces it")
	fs("rm", "-R", base+"/tree")
	assert.Empty(t, fs("ls", base))
}
