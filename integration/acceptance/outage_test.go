//go:build integration

package acceptance

import (
	"context"
	"path"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// ownCluster starts a cluster that only this test uses, so that it can stop daemons. The
// cluster stops when the test ends.
func ownCluster(t *testing.T, options cluster.Options) *suite {
	t.Helper()
	hadoop, stop, err := startCluster(options)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, stop()) })
	own, err := connect(hadoop)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, own.files.Close()) })
	return own
}

// startWaiting submits an application with two tasks that end when the file signal exists. It
// returns when both tasks run.
func (s *suite) startWaiting(t *testing.T) (running *submitted, id, signal string) {
	t.Helper()
	signal = s.data + "/signal-" + path.Base(t.Name())
	running = commandLine{
		args:        []string{"submit", "--num-executors", "2", program("trouble"), "until", signal},
		environment: []string{"HADOOP_CONF_DIR=" + s.hadoop.ConfDir()},
	}.start(t)
	id = running.applicationID(t)
	s.awaitStatus(t, id, "tasks run", func(status page.Status) bool { return status.Tasks.Running == 2 })
	return running, id, signal
}

// TestApplicationSurvivesDaemonRestarts restarts daemons that recover their state. The
// ResourceManager does not notice the short outage, because it expires nodes and
// ApplicationMasters only after minutes. The subtests run in order.
func TestApplicationSurvivesDaemonRestarts(t *testing.T) {
	t.Parallel()
	options := clusterOptions()
	options.Nodes = []cluster.NodeSpec{{Host: "127.0.0.41", Rack: "/only"}}
	options.YARN = cluster.Properties{
		"yarn.resourcemanager.recovery.enabled": "true",
		"yarn.resourcemanager.store.class":      "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
		"yarn.nodemanager.recovery.enabled":     "true",
		"yarn.nodemanager.recovery.supervised":  "true",
	}
	own := ownCluster(t, options)
	t.Run("NodeManager", func(t *testing.T) { testRestartedNode(t, own) })
	t.Run("ResourceManager", func(t *testing.T) { testRestartedResourceManager(t, own) })
}

// testRestartedNode kills a NodeManager and starts it again. The NodeManager must recover its
// containers, and no executor may be lost.
func testRestartedNode(t *testing.T, own *suite) {
	running, id, signal := own.startWaiting(t)
	node := own.hadoop.Nodes()[0].NodeManager
	require.NoError(t, node.Kill())
	require.NoError(t, node.Start(t.Context()))
	require.NoError(t, own.hadoop.WaitReady(t.Context()))
	require.NoError(t, own.put(t.Context(), signal, nil))
	done := running.wait(t)
	assert.Equal(t, 0, done.code)
	assert.NotContains(t, done.stderr, "lost")
	own.assertNoContainer(t, id)
}

// testRestartedResourceManager kills a ResourceManager and an executor, and starts the
// ResourceManager again. It must recover the application, and the application must request a
// new executor from it.
func testRestartedResourceManager(t *testing.T, own *suite) {
	running, id, signal := own.startWaiting(t)

	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	require.NoError(t, own.hadoop.ResourceManager().Kill())
	executors := processesInRole(id, launch.RoleExecutor, "trouble")
	require.Len(t, executors, 2)
	require.NoError(t, syscall.Kill(executors[0].pid, syscall.SIGKILL))
	require.NoError(t, own.hadoop.ResourceManager().Start(ctx))
	require.NoError(t, own.hadoop.WaitReady(ctx))

	own.awaitStatus(t, id, "both tasks run again", func(status page.Status) bool {
		return status.Tasks.Failed == 1 && status.Tasks.Running == 2
	})
	require.NoError(t, own.put(ctx, signal, nil))
	done := running.wait(t)
	assert.Equal(t, 0, done.code)
	attempts, err := own.rest.Attempts(ctx, id)
	require.NoError(t, err)
	assert.Len(t, attempts, 1, "the ApplicationMaster went on")
	// yarn-submit prints the first message if one of its requests failed during the outage, and
	// otherwise the second.
	assert.Regexp(t, `the ResourceManager (answers again|has restarted)`, done.stderr)
	assert.NotContains(t, done.stderr, "the ApplicationMaster failed")
	assert.Regexp(t, `tasks +2 in 1 task set`, done.stderr)
}

// TestApplicationsSurviveLossOfANode runs its subtests in order on one cluster with two nodes.
// An executor cannot read the files of executors on the other node.
func TestApplicationsSurviveLossOfANode(t *testing.T) {
	t.Parallel()
	// Three seconds less, an interval between heartbeats, is the time for executors to move their map output.
	options := preemptionOptions(20 * time.Second)
	options.ShuffleService = true
	options.Nodes = []cluster.NodeSpec{
		{Host: "127.0.0.42", Rack: "/one", MemoryMB: 2048, VCores: 16}, {Host: "127.0.0.43", Rack: "/other", MemoryMB: 2048, VCores: 16},
	}
	own := ownCluster(t, options)
	t.Run("executors with map output are preempted", func(t *testing.T) { testPreemptionDuringFetches(t, own) })
	t.Run("executors whose node keeps map output are preempted", func(t *testing.T) { testPreemptedExecutors(t, own) })
	t.Run("a node with map output is lost", func(t *testing.T) { testNodeLossDuringFetches(t, own) })
	t.Run("a NodeManager is stopped", func(t *testing.T) { testStoppedNode(t, own) })
	t.Run("a node with map output is decommissioned", func(t *testing.T) { testDecommissionDuringFetches(t, own) })
}

// testStoppedNode stops a NodeManager on whose node an executor runs.
func testStoppedNode(t *testing.T, own *suite) {
	running, id, signal := own.startTaskOnEachNode(t)
	goes, stays := own.nodesByMaster(t, id)
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	require.NoError(t, goes.NodeManager.Stop(ctx))
	own.awaitStatus(t, id, "both tasks run on the node that is left", func(status page.Status) bool {
		there := 0
		for _, executor := range status.Details {
			if executor.Host == stays.Host {
				there += executor.Running
			}
		}
		return there == 2
	})
	require.NoError(t, own.put(ctx, signal, nil))
	assert.Equal(t, 0, running.wait(t).code)
	require.NoError(t, goes.NodeManager.Start(ctx))
	require.NoError(t, own.hadoop.WaitReady(ctx))
}
