//go:build integration

package acceptance

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/integration/text"
)

// ownText writes a text to HDFS and returns its path and the expected counts.
func (s *suite) ownText(t *testing.T) countedText {
	t.Helper()
	var content bytes.Buffer
	_, err := text.WriteGoSources(t.Context(), &content, 12<<20)
	require.NoError(t, err)
	c := countedText{path: s.data + "/own.txt", words: text.Count(content.Bytes())}
	require.NoError(t, s.put(t.Context(), c.path, content.Bytes()))
	return c
}

// TestCountsAreCorrectDespiteDisruptions counts words while daemons restart or remove
// containers. Its subtests run in order on one cluster. Each node has room for four executors,
// or for three and the ApplicationMaster.
func TestCountsAreCorrectDespiteDisruptions(t *testing.T) {
	t.Parallel()
	options := disruptionOptions()
	options.Nodes = []cluster.NodeSpec{
		{Host: "127.0.0.46", Rack: "/one", MemoryMB: 2048}, {Host: "127.0.0.47", Rack: "/other", MemoryMB: 2048},
	}
	options.YARN["yarn.resourcemanager.recovery.enabled"] = "true"
	options.YARN["yarn.resourcemanager.store.class"] = "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
	own := ownCluster(t, options)
	in := own.ownText(t)
	t.Run("executors fail on one node", func(t *testing.T) { testCountWithFailingNode(t, own, in) })
	for _, trial := range []struct {
		name    string
		disrupt func(t *testing.T, h *heldCount)
	}{
		{"the ResourceManager restarts", func(t *testing.T, h *heldCount) {
			require.NoError(t, own.hadoop.ResourceManager().Kill())
			require.NoError(t, own.hadoop.ResourceManager().Start(t.Context()))
			h.awaitWaitPoint(t)
		}},
		{"another queue claims its share", func(t *testing.T, h *heldCount) {
			signal := outputPath(t)
			modest, other := own.submit(t, append(smallContainers, "--queue", "batch", "--num-executors", "2", program("trouble"), "until", signal)...)
			own.awaitStatus(t, other, "it gets its share", func(status page.Status) bool { return status.Tasks.Running == 2 })
			require.NoError(t, own.put(t.Context(), signal, nil))
			assert.Equal(t, 0, modest.wait(t).code)
		}},
		{"a NodeManager is killed", func(t *testing.T, h *heldCount) {
			goes, _ := own.nodesByMaster(t, h.id)
			require.NoError(t, goes.NodeManager.Kill())
			own.awaitStatus(t, h.id, "its executors are lost", func(status page.Status) bool { return !hasExecutor(status, goes.Host) })
		}},
	} {
		t.Run(trial.name, func(t *testing.T) {
			h := own.startHeldCount(t, in, whileCounting, append(smallContainers, "--queue", "default", "--num-executors", "6")...)
			h.awaitWaitPoint(t)
			own.awaitStatus(t, h.id, "its executors run on both nodes", func(status page.Status) bool { return status.Executors.Running == 6 })
			trial.disrupt(t, h)
			h.release(t)
			h.assertCorrect(t)
			attempts, err := own.rest.Attempts(t.Context(), h.id)
			require.NoError(t, err)
			assert.Len(t, attempts, 1)
			own.assertNoContainer(t, h.id)
		})
	}
}

// hasExecutor reports whether a host has an executor that is not lost.
func hasExecutor(status page.Status, host string) bool {
	return slices.ContainsFunc(status.Details, func(executor page.ExecutorDetail) bool {
		return executor.Host == host && executor.Reason == ""
	})
}

// testCountWithFailingNode counts words while executors on one node exit at once, because of a
// file that only the shells on this node read (BASH_ENV). Until the test enlarges the nodes,
// the other node has no room for all five executors.
func testCountWithFailingNode(t *testing.T, own *suite, in countedText) {
	bad := own.hadoop.Nodes()[0].Host
	file := filepath.Join(workingDirectory(t, map[string]string{bad: "exit 9\n"}), bad)
	h := own.startHeldCount(t, in, whileCounting, "--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "5",
		"--files", file, "--conf", "executorEnv.BASH_ENV=./{{NM_HOST}}")
	own.awaitStatus(t, h.id, "the node is excluded", func(status page.Status) bool {
		return slices.ContainsFunc(status.Exclusions, func(e allocator.Exclusion) bool { return e.Host == bad })
	})
	shown := commandLine{args: []string{"status", h.id}, environment: []string{"HADOOP_CONF_DIR=" + own.hadoop.ConfDir()}}.run(t)
	assert.Regexp(t, `(?m)excluded.*`+regexp.QuoteMeta(bad), shown.stdout)
	own.setNodeMemory(t, 4096)
	now := own.awaitStatus(t, h.id, "all executors run", func(status page.Status) bool { return status.Executors.Running == 5 })
	assert.False(t, hasExecutor(now, bad))
	h.release(t)
	done := h.assertCorrect(t)
	assert.Regexp(t, `ended +.*exited`, done.stderr)
	own.assertNoContainer(t, h.id)
	own.setNodeMemory(t, 2048)
}

func TestCountsAreCorrectWithDynamicAllocation(t *testing.T) {
	t.Parallel()
	in, out := sourcesText(t), outputPath(t)
	done := yarnSubmit(t, "submit", "--executor-memory", "512m", "--conf", "dynamicAllocation.enabled=true",
		"--conf", "dynamicAllocation.maxExecutors=3", "--conf", "dynamicAllocation.executorIdleTimeout=1s",
		"--conf", "dynamicAllocation.schedulerBacklogTimeout=200ms", program("wordcount"), "-split", "262144", in.path, out)
	require.Equal(t, 0, done.code)
	assertCounts(t, in.words, out)
	assertNothingLeft(t, done.applicationID(t))
}
