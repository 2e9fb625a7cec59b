//go:build integration

package acceptance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMissingInputLeavesNoOutput(t *testing.T) {
	t.Parallel()
	in, out := shared.data+"/no such text", outputPath(t)
	done := yarnSubmit(t, "submit", "--num-executors", "1", program("wordcount"), in, out)
	assertFailed(t, done, "Text at main.go:30: stat "+qualified(t, in)+": file does not exist", 1)
	assertNotInHDFS(t, out)
	assertNoTemporaryFiles(t, out)
}

func TestExistingOutputIsNotChanged(t *testing.T) {
	t.Parallel()
	in, out := sourcesText(t), outputPath(t)
	require.NoError(t, shared.put(t.Context(), out+"/part-00000", []byte("precious\t1\n")))
	before, err := tree(t.Context(), shared.files, out)
	require.NoError(t, err)
	done := yarnSubmit(t, "submit", "--num-executors", "1", program("wordcount"), in.path, out)
	assertFailed(t, done, "output "+qualified(t, out)+": file already exists: name another directory, or remove that one first", 1)
	after, err := tree(t.Context(), shared.files, out)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	assertNoTemporaryFiles(t, out)
}

func TestProgramPrintsItsUsage(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--num-executors", "1", program("wordcount"), "just-one")
	assertFailed(t, done, "usage: wordcount [-split BYTES] IN OUT", 1)
}

func qualified(t *testing.T, path string) string {
	t.Helper()
	uri, err := shared.files.Qualify(path)
	require.NoError(t, err)
	return uri
}
