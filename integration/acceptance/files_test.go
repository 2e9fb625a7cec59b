//go:build integration

package acceptance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/colinmarc/hdfs/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// commonReport returns the report that the driver and both tasks of `trouble look` have written
// to the directory out. It checks that all three reports are equal and that owner owns their
// files.
func commonReport(t *testing.T, out, owner string) string {
	t.Helper()
	var first string
	for _, name := range []string{"driver", "task-0", "task-1"} {
		info, err := shared.files.Stat(t.Context(), out+"/"+name)
		require.NoError(t, err)
		assert.Equal(t, owner, info.Owner, info.Path)
		file, err := shared.files.Open(t.Context(), out+"/"+name)
		require.NoError(t, err)
		content, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		if first == "" {
			first = string(content)
		}
		assert.Equal(t, first, string(content), name)
	}
	return first
}

func TestFilesAndArchivesAreInEveryContainer(t *testing.T) {
	t.Parallel()
	dir := workingDirectory(t, map[string]string{"a.txt": "a", "b with space.txt": "b"})
	archive := filepath.Join(dir, "things.tar.gz")
	require.NoError(t, os.WriteFile(archive, tarGz(t, "deep/inside.txt", "packed"), 0o644))
	inHDFS := shared.data + "/files/there already.txt"
	require.NoError(t, shared.put(t.Context(), inHDFS, []byte("from HDFS")))

	out := outputPath(t)
	done := commandLine{directory: dir, args: []string{
		"submit", "--num-executors", "2", "--files", "a.txt,b with space.txt,a.txt#again.conf," + inHDFS + "#hdfs.txt",
		"--archives", archive + "," + archive + "#named", program("trouble"), "look", out,
		"a.txt", "b with space.txt", "again.conf", "hdfs.txt", "things.tar.gz/deep/inside.txt", "named/deep/inside.txt",
	}}.run(t)
	require.Equal(t, 0, done.code)
	assert.Equal(t, "a.txt=a\nb with space.txt=b\nagain.conf=a\nhdfs.txt=from HDFS\n"+
		"things.tar.gz/deep/inside.txt=packed\nnamed/deep/inside.txt=packed\n", commonReport(t, out, currentUser(t)))
	assertNothingLeft(t, done.applicationID(t))
	_, err := shared.files.Stat(t.Context(), inHDFS)
	assert.NoError(t, err, "what was in HDFS before stays")
}

func tarGz(t *testing.T, name, content string) []byte {
	t.Helper()
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
	_, err := archive.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	require.NoError(t, compressed.Close())
	return packed.Bytes()
}

func TestApplicationActsAsItsUser(t *testing.T) {
	t.Parallel()
	makeHome(t, "alice")
	file := filepath.Join(workingDirectory(t, map[string]string{"small.txt": "small"}), "small.txt")

	out := "hdfs:///user/alice/seen-" + filepath.Base(shared.data)
	done := commandLine{
		args: []string{"submit", "--num-executors", "2", "--files", file, "--conf", "executorEnv.LOOK=around you", "--conf", "yarn.appMasterEnv.LOOK=around you",
			program("trouble"), "look", out, "$HADOOP_USER_NAME", "$USER", "$LOOK"},
		environment: []string{"HADOOP_USER_NAME=alice"},
	}.run(t)
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)
	assert.Equal(t, "$HADOOP_USER_NAME=alice\n$USER=alice\n$LOOK=around you\n", commonReport(t, out, "alice"))
	assert.Equal(t, "alice", application(t, id).User)
	entries, err := tree(t.Context(), shared.files, "/user/alice")
	require.NoError(t, err)
	for _, entry := range entries {
		assert.Equal(t, "alice", entry.Owner, entry.Path)
	}
	assertNotInHDFS(t, "/user/alice/.bobbin/staging")
}

func TestMissingHomeErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	done := commandLine{
		args:        []string{"submit", "--num-executors", "1", program("trouble"), "succeed", "1"},
		environment: []string{"HADOOP_USER_NAME=bob"},
	}.run(t)
	assert.Equal(t, 3, done.code)
	for _, text := range []string{"/user/bob", "bob", "yarn.stagingDir"} {
		assert.Contains(t, done.lastLine(), text)
	}

	asSuperuser(t, func(client *hdfs.Client) {
		require.NoError(t, client.MkdirAll("/tmp", 0o777))
		require.NoError(t, client.Chmod("/tmp", 0o1777))
	})
	done = commandLine{
		args:        []string{"submit", "--num-executors", "1", "--conf", "yarn.stagingDir=hdfs:///tmp", program("trouble"), "succeed", "1"},
		environment: []string{"HADOOP_USER_NAME=bob"},
	}.run(t)
	assert.Equal(t, 0, done.code)
}

// makeHome creates the home directory of user in HDFS.
func makeHome(t *testing.T, user string) {
	t.Helper()
	asSuperuser(t, func(client *hdfs.Client) {
		require.NoError(t, client.MkdirAll("/user/"+user, 0o755))
		require.NoError(t, client.Chown("/user/"+user, user, user))
	})
}

// asSuperuser calls do with an HDFS client of the superuser. This is the user who runs the
// tests, because the same user runs the NameNode.
func asSuperuser(t *testing.T, do func(client *hdfs.Client)) {
	t.Helper()
	client, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: []string{shared.hadoop.NameNode().Address(cluster.RPC)}, User: currentUser(t)})
	require.NoError(t, err)
	defer func() { assert.NoError(t, client.Close()) }()
	do(client)
}
