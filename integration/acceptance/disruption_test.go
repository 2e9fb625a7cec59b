//go:build integration

package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// preemptionOptions returns the options of a cluster that preempts containers of queues beyond
// their capacity. It kills a container when the wait has passed since it asked for the container.
func preemptionOptions(wait time.Duration) cluster.Options {
	options := clusterOptions()
	const preemption = "yarn.resourcemanager.monitor.capacity.preemption."
	options.YARN = cluster.Properties{
		"yarn.resourcemanager.scheduler.monitor.enable": "true",
		preemption + "monitoring_interval":              "500",
		preemption + "max_wait_before_kill":             strconv.FormatInt(wait.Milliseconds(), 10),
		preemption + "total_preemption_per_round":       "1.0",
		preemption + "natural_termination_factor":       "1.0",
	}
	return options
}

// disruptionOptions returns the options of a cluster that preempts containers and expires lost
// nodes after 25 seconds. On a busy machine, heartbeats can be almost as late.
func disruptionOptions() cluster.Options {
	options := preemptionOptions(3 * time.Second)
	options.YARN["yarn.nm.liveness-monitor.expiry-interval-ms"] = "25000"
	options.YARN["yarn.nodemanager.recovery.enabled"] = "true"
	options.YARN["yarn.nodemanager.recovery.supervised"] = "true"
	return options
}

// smallContainers are flags for applications with small containers. The application fails if
// one executor fails.
var smallContainers = []string{"--driver-memory", "512m", "--executor-memory", "512m", "--conf", "executor.maxNumFailures=1"}

// submit starts yarn-submit for an application on the suite's cluster and waits for the
// application's id.
func (s *suite) submit(t *testing.T, args ...string) (running *submitted, id string) {
	t.Helper()
	running = commandLine{args: append([]string{"submit"}, args...), environment: []string{"HADOOP_CONF_DIR=" + s.hadoop.ConfDir()}}.start(t)
	return running, running.applicationID(t)
}

// assertNoContainer waits until a finished application has no container and no process.
func (s *suite) assertNoContainer(t *testing.T, id string) {
	t.Helper()
	await(t, "the containers of "+id+" end", func(ctx context.Context) bool {
		known, err := s.rest.Application(ctx, id)
		return err == nil && known.State.Ended() && known.RunningContainers <= 0
	})
	await(t, "the processes of "+id+" end", func(context.Context) bool { return len(processes(id)) == 0 })
}

// TestApplicationsSurviveDisruptions runs its subtests in order on one cluster.
func TestApplicationsSurviveDisruptions(t *testing.T) {
	t.Parallel()
	options := disruptionOptions()
	options.Nodes = []cluster.NodeSpec{
		{Host: "127.0.0.44", Rack: "/one", MemoryMB: 2048}, {Host: "127.0.0.45", Rack: "/other", MemoryMB: 2048},
	}
	own := ownCluster(t, options)
	t.Run("preemption", func(t *testing.T) { testPreemption(t, own) })
	t.Run("a NodeManager is killed", func(t *testing.T) { testKilledNode(t, own) })
	t.Run("a node is decommissioned", func(t *testing.T) { testDecommissionedNode(t, own) })
}

// testPreemption starts an application that uses the whole cluster, and then an application in
// another queue, for which YARN preempts containers of the first application.
func testPreemption(t *testing.T, own *suite) {
	signal := own.data + "/preempted"
	greedy, id := own.submit(t, append(smallContainers, "--queue", "default", "--num-executors", "6", program("trouble"), "hold", "6", signal, signal)...)
	own.awaitStatus(t, id, "it has the cluster", func(status page.Status) bool { return status.Tasks.Running == 6 })

	modest, other := own.submit(t, append(smallContainers, "--queue", "batch", "--num-executors", "2", program("trouble"), "until", signal+"-other")...)
	own.awaitStatus(t, other, "the other queue gets its share", func(status page.Status) bool { return status.Tasks.Running == 2 })
	now := own.awaitStatus(t, id, "it goes on with fewer", func(status page.Status) bool { return status.Executors.Running < 6 })
	assert.Zero(t, now.Executors.Failed, "what was preempted has not failed")
	require.NoError(t, own.put(t.Context(), signal+"-other", nil))
	assert.Equal(t, 0, modest.wait(t).code)
	own.awaitStatus(t, id, "it gets back what it had", func(status page.Status) bool { return status.Tasks.Running == 6 })

	require.NoError(t, own.put(t.Context(), signal, nil))
	assert.Equal(t, 0, greedy.wait(t).code)
	own.assertNoContainer(t, id)
	own.assertNoContainer(t, other)
}

// nodesByMaster returns the two nodes of the cluster: own runs the application's
// ApplicationMaster, and other does not.
func (s *suite) nodesByMaster(t *testing.T, id string) (other, own *cluster.Node) {
	t.Helper()
	known, err := s.rest.Application(t.Context(), id)
	require.NoError(t, err)
	other, own = s.hadoop.Nodes()[0], s.hadoop.Nodes()[1]
	if strings.HasPrefix(known.AMHostHTTPAddress, other.Host+":") {
		other, own = own, other
	}
	return other, own
}

// setNodeMemory sets the memory that the ResourceManager can allocate on every node.
func (s *suite) setNodeMemory(t *testing.T, memoryMB int64) {
	t.Helper()
	for _, node := range s.hadoop.Nodes() {
		s.administer(t, "nodes/"+node.NodeManager.Address(cluster.RPC)+"/resource",
			fmt.Sprintf(`{"resource":{"memory":%d,"vCores":8},"overCommitTimeout":-1}`, memoryMB))
	}
	await(t, "the nodes have their new size", func(ctx context.Context) bool {
		nodes, err := s.rest.Nodes(ctx, "RUNNING")
		return err == nil && !slices.ContainsFunc(nodes, func(node yarnrest.Node) bool {
			return node.UsedMemoryMB+node.AvailableMemoryMB != memoryMB
		})
	})
}

// startTaskOnEachNode starts an application with one task on each of two nodes. The tasks end
// when the signal file exists. While the executors start, each node has room for only one. When
// both tasks run, startTaskOnEachNode enlarges the nodes, so that either has room for both
// executors and the ApplicationMaster.
func (s *suite) startTaskOnEachNode(t *testing.T) (running *submitted, id, signal string) {
	t.Helper()
	s.setNodeMemory(t, 512+640)
	signal = outputPath(t)
	running, id = s.submit(t, append(smallContainers, "--executor-memory", "640m", "--num-executors", "2", program("trouble"), "until", signal)...)
	now := s.awaitStatus(t, id, "two tasks run", func(status page.Status) bool { return status.Tasks.Running == 2 })
	require.Len(t, now.Details, 2)
	require.NotEqual(t, now.Details[0].Host, now.Details[1].Host)
	s.setNodeMemory(t, 512+2*640)
	return running, id, signal
}

// testDecommissionedNode decommissions a node. Its executor must finish the running task and
// then stop, and a new executor must start on the other node.
func testDecommissionedNode(t *testing.T, own *suite) {
	running, id, signal := own.startTaskOnEachNode(t)
	goes, stays := own.nodesByMaster(t, id)
	own.awaitReport(t, goes)
	require.NoError(t, own.hadoop.Decommission(t.Context(), 2*time.Minute, goes.Host))
	now := own.awaitStatus(t, id, "an executor replaces the decommissioning one", func(status page.Status) bool {
		return slices.ContainsFunc(status.Details, func(executor page.ExecutorDetail) bool {
			return executor.Host == stays.Host && executor.Running == 0 && executor.State == "registered"
		})
	})
	assert.Equal(t, 2, now.Tasks.Running, "the decommissioning executor keeps its task")
	assert.Zero(t, now.Tasks.Failed)
	shown := commandLine{args: []string{"status", id}, environment: []string{"HADOOP_CONF_DIR=" + own.hadoop.ConfDir()}}.run(t)
	assert.Contains(t, shown.stdout, "decommissioning")

	require.NoError(t, own.put(t.Context(), signal, nil))
	assert.Equal(t, 0, running.wait(t).code)
	own.assertNoContainer(t, id)
}

// awaitReport waits until a node has reported the resource usage of its container to the
// ResourceManager. Before this report, the ResourceManager considers the node idle and
// decommissions it at once.
func (s *suite) awaitReport(t *testing.T, node *cluster.Node) {
	t.Helper()
	await(t, node.Host+" reports its container", func(ctx context.Context) bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.hadoop.ResourceManager().Address(cluster.HTTP)+"/ws/v1/cluster/nodes", nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		var answer struct {
			Nodes struct {
				Node []struct {
					Host        string `json:"nodeHostName"`
					Utilization struct {
						MB int `json:"aggregatedContainersPhysicalMemoryMB"`
					} `json:"resourceUtilization"`
				} `json:"node"`
			} `json:"nodes"`
		}
		require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
		for _, known := range answer.Nodes.Node {
			if known.Host == node.Host {
				return known.Utilization.MB > 0
			}
		}
		return false
	})
}

// testKilledNode kills a NodeManager. The containers on its node continue to run until the
// driver learns from the ResourceManager that the node is lost.
func testKilledNode(t *testing.T, own *suite) {
	running, id, signal := own.startTaskOnEachNode(t)
	goes, stays := own.nodesByMaster(t, id)
	orphans := processesInRole(id, launch.RoleExecutor, "trouble")
	require.Len(t, orphans, 2)
	require.NoError(t, goes.NodeManager.Kill())
	own.awaitStatus(t, id, "both tasks run on the remaining node", func(status page.Status) bool {
		there := 0
		for _, executor := range status.Details {
			if executor.Host == stays.Host {
				there += executor.Running
			}
		}
		return there == 2 && status.Executors.Failed == 0
	})
	await(t, "the executor of the lost node exits", func(context.Context) bool {
		return len(processesInRole(id, launch.RoleExecutor, "trouble")) == 2
	})
	require.NoError(t, own.put(t.Context(), signal, nil))
	assert.Equal(t, 0, running.wait(t).code)
	own.assertNoContainer(t, id)
	require.NoError(t, goes.NodeManager.Start(t.Context()))
	require.NoError(t, own.hadoop.WaitReady(t.Context()))
}

// TestDynamicAllocation checks that the driver requests executors for pending tasks and removes
// idle executors.
func TestDynamicAllocation(t *testing.T) {
	t.Parallel()
	signal := outputPath(t)
	args := []string{"submit", "--executor-memory", "512m"}
	for key, value := range map[string]string{
		"enabled": "true", "minExecutors": "1", "maxExecutors": "4", "executorIdleTimeout": "2s", "schedulerBacklogTimeout": "300ms",
	} {
		args = append(args, "--conf", "dynamicAllocation."+key+"="+value)
	}
	running := commandLine{args: append(args, program("trouble"), "hold", "9", signal+"-1", signal+"-2")}.start(t)
	id := running.applicationID(t)
	awaitStatus(t, id, "it takes as many as it may", func(status page.Status) bool {
		return status.Executors.Running == 4 && status.Tasks.Running == 4
	})
	require.NoError(t, shared.put(t.Context(), signal+"-1", nil))
	now := awaitStatus(t, id, "it keeps as few as it may", func(status page.Status) bool {
		return status.Executors.Running == 1 && status.Executors.Allocated == 1
	})
	assert.Zero(t, now.Executors.Failed, "%v", now.Failures)
	assert.Equal(t, 9, now.Tasks.Done)
	await(t, "their containers end", func(ctx context.Context) bool { return len(liveContainers(ctx, t, id)) == 2 })
	require.NoError(t, shared.put(t.Context(), signal+"-2", nil))
	assert.Equal(t, 0, running.wait(t).code)
	assertNothingLeft(t, id)
}
