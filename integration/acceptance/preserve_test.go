//go:build integration

package acceptance

import (
	"testing"

	"github.com/colinmarc/hdfs/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPreservedStagingFiles sets yarn.preserveStagingFiles, the application type and the
// replication of staged files in a defaults file. The replication is 2, which differs from the
// cluster's default of 1.
func TestPreservedStagingFiles(t *testing.T) {
	t.Parallel()
	dir := workingDirectory(t, map[string]string{"a.txt": "a"})
	conf := workingDirectory(t, map[string]string{
		"bobbin-defaults.conf": "yarn.preserveStagingFiles true\nyarn.submit.file.replication 2\nyarn.applicationType Nightly-Build\n",
	})
	environment := []string{"BOBBIN_CONF_DIR=" + conf}
	out := outputPath(t)
	done := commandLine{directory: dir, environment: environment, args: []string{
		"submit", "--num-executors", "1", "--files", "a.txt", program("trouble"), "look", out, "a.txt",
	}}.run(t)
	require.Equal(t, 0, done.code, done.stderr)
	id := done.applicationID(t)
	assertNothingLeft(t, id)
	assert.Equal(t, "Nightly-Build", application(t, id).Type)
	kept := home(t) + "/.bobbin/preserved/" + id
	assert.Contains(t, done.stderr, "uploaded files stay in "+kept)
	entries, err := tree(t.Context(), shared.files, kept)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "a.txt", entries[0].Name)
	asSuperuser(t, func(client *hdfs.Client) {
		info, err := client.Stat("/user/" + currentUser(t) + "/.bobbin/preserved/" + id + "/a.txt")
		require.NoError(t, err)
		assert.EqualValues(t, 2, info.Sys().(*hdfs.FileStatus).GetBlockReplication())
	})

	assert.NotContains(t, listIDs(t), id)
	list := commandLine{environment: environment, args: []string{"list", "--limit", "0"}}.run(t)
	assert.Contains(t, list.stdout, id, "the type is the user's own")

	require.NoError(t, shared.files.RemoveAll(t.Context(), kept))
	_ = shared.files.Remove(t.Context(), home(t)+"/.bobbin/preserved") // fails if other runs have files there
}
