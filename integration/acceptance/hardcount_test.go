//go:build integration

package acceptance

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/integration/text"
)

// slowSplit makes so many tasks of a small text that counting it takes a while.
const (
	slowText  = 12 << 20
	slowSplit = "4096"
)

// ownText puts a text into the HDFS of the suite's own cluster.
func (s *suite) ownText(t *testing.T) corpus {
	t.Helper()
	var content bytes.Buffer
	_, err := text.WriteGoSources(t.Context(), &content, slowText)
	require.NoError(t, err)
	c := corpus{path: s.data + "/slow.txt", words: text.Count(content.Bytes())}
	require.NoError(t, s.put(t.Context(), c.path, content.Bytes()))
	return c
}

// TestCountsAreRightThroughHardTimes counts words while a cluster does to the
// application what it can.
func TestCountsAreRightThroughHardTimes(t *testing.T) {
	t.Parallel()
	options := hardTimesOptions()
	options.Nodes = []cluster.NodeSpec{
		{Host: "127.0.0.46", Rack: "/one", MemoryMB: 2048}, {Host: "127.0.0.47", Rack: "/other", MemoryMB: 2048},
	}
	options.YARN["yarn.resourcemanager.recovery.enabled"] = "true"
	options.YARN["yarn.resourcemanager.store.class"] = "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
	own := ownCluster(t, options)
	in := own.ownText(t)
	for _, trial := range []struct {
		name   string
		befall func(t *testing.T, id string)
	}{
		{"the ResourceManager restarts", func(t *testing.T, _ string) {
			require.NoError(t, own.hadoop.ResourceManager().Kill())
			require.NoError(t, own.hadoop.ResourceManager().Start(t.Context()))
		}},
		{"another queue wants its share", func(t *testing.T, id string) {
			signal := own.data + "/share"
			modest, other := own.submit(t, append(small, "--queue", "batch", "--num-executors", "2", program("trouble"), "until", signal)...)
			own.awaitStatus(t, other, "it gets its share", func(status am.Status) bool { return status.Tasks.Running == 2 })
			require.NoError(t, own.put(t.Context(), signal, nil))
			assert.Equal(t, 0, modest.wait(t).code)
		}},
		{"a NodeManager is killed", func(t *testing.T, id string) {
			goes, _ := own.otherNode(t, id)
			require.NoError(t, goes.NodeManager.Kill())
		}},
	} {
		t.Run(trial.name, func(t *testing.T) {
			out := own.data + "/out-" + strings.ReplaceAll(trial.name, " ", "-")
			running, id := own.submit(t, append(small, "--queue", "default", "--num-executors", "6",
				program("wordcount"), "-split", slowSplit, in.path, out)...)
			own.awaitStatus(t, id, "it counts", func(status am.Status) bool { return status.Tasks.Done > 50 })
			trial.befall(t, id)
			done := running.wait(t)
			require.Equal(t, 0, done.code)
			got, err := text.ReadCounts(t.Context(), own.files, out)
			require.NoError(t, err)
			assert.Empty(t, text.Difference(in.words, got))
			attempts, err := own.rest.Attempts(t.Context(), id)
			require.NoError(t, err)
			assert.Len(t, attempts, 1)
			own.assertNoContainer(t, id)
		})
	}
}

// TestCountsAreRightWhereExecutorsFailOnOneNode counts words with executors that
// end at once on one of the nodes: the shell that starts them there finds a file
// that tells it to.
func TestCountsAreRightWhereExecutorsFailOnOneNode(t *testing.T) {
	t.Parallel()
	in, dir := sourcesText(t), t.TempDir()
	bad := shared.hadoop.Nodes()[0].Host
	require.NoError(t, os.WriteFile(filepath.Join(dir, bad), []byte("exit 9\n"), 0o644))
	failed := regexp.MustCompile(`ended +.*exited`)
	const tries = 5 // all executors may come to the other node
	for range tries {
		out := output(t)
		done := yarnSubmit(t, "submit", "--num-executors", "3", "--executor-memory", "512m",
			"--files", filepath.Join(dir, bad), "--conf", "executorEnv.BASH_ENV=./{{NM_HOST}}", program("wordcount"), in.path, out)
		require.Equal(t, 0, done.code)
		assertCounts(t, in.words, out)
		assertNothingLeft(t, done.applicationID(t))
		if failed.MatchString(done.stderr) {
			return
		}
	}
	require.FailNow(t, "no executor came to the node", "%d times", tries)
}

// TestCountsAreRightWithDynamicAllocation counts words with as many executors as
// there is work for.
func TestCountsAreRightWithDynamicAllocation(t *testing.T) {
	t.Parallel()
	in, out := sourcesText(t), output(t)
	done := yarnSubmit(t, "submit", "--executor-memory", "512m", "--conf", "dynamicAllocation.enabled=true",
		"--conf", "dynamicAllocation.maxExecutors=3", "--conf", "dynamicAllocation.executorIdleTimeout=1s",
		"--conf", "dynamicAllocation.schedulerBacklogTimeout=200ms", program("wordcount"), "-split", "262144", in.path, out)
	require.Equal(t, 0, done.code)
	assertCounts(t, in.words, out)
	assertNothingLeft(t, done.applicationID(t))
}
