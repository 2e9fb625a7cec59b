package allocator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
)

// registeredOnA1 returns a state with executors 1 to n on node a1. All except the last are
// registered.
func registeredOnA1(n int) *state {
	f := stateOn(n, "a1", "b1")
	f.settled()
	for i := range n {
		f.give(containerOn("a1", int64(i+1)))
	}
	for id := range n - 1 {
		f.registered(f.executors[yarn.ContainerID{ID: int64(id + 1)}].ID)
	}
	return f
}

func report(host string, state yarn.NodeState, timeout time.Duration) []yarn.NodeReport {
	return []yarn.NodeReport{{ID: yarn.NodeID{Host: host, Port: 1}, Rack: rackOfLetter(host), State: state, DecommissioningTimeout: timeout}}
}

func TestADecommissioningNodeGetsNoExecutors(t *testing.T) {
	f := registeredOnA1(3)
	f.nodesChanged(report("a1", yarn.NodeDecommissioning, time.Hour), begin)
	why := driver.DecommissionNotice{Reason: "its node a1 is being decommissioned", Deadline: later(time.Hour), NodeLeaves: true}
	require.Equal(t, []driverNotice{{[]string{"1", "2"}, why}}, f.takeNotices())
	ended := f.takeEnded()
	require.Len(t, ended, 1, "the one that has not registered")
	require.Equal(t, "3", ended[0].executor.ID)
	require.Equal(t, 3, f.containersToAsk(), "others are asked for at once")
	require.Contains(t, f.settled(), ask{anywhere, 3})
	require.Empty(t, f.give(containerOn("a1", 9)), "not there")
	require.Contains(t, f.takeReleases(begin), yarn.ContainerID{ID: 9})
	for id := range int64(2) {
		ended := f.exits(id+1, 143, "")
		require.False(t, ended[0].loss.CountsAsFailure)
		require.Equal(t, reasonDecommissioned, ended[0].reason)
	}
	require.Zero(t, f.failures.total)
	f.nodesChanged(report("a1", yarn.NodeDecommissioning, 30*time.Minute), begin)
	require.Empty(t, f.takeNotices())

	f.nodesChanged(report("a1", yarn.NodeRunning, 0), begin)
	f.settled()
	require.Len(t, f.give(containerOn("a1", 10)), 1, "recommissioned")
	f.nodesChanged(report("a1", yarn.NodeDecommissioning, 0), begin)
	require.Len(t, f.takeEnded(), 1)
}

func TestALostNodeIsNotAskedFor(t *testing.T) {
	f := stateOn(2, "a1", "b1")
	require.Empty(t, f.nodesChanged(report("a1", yarn.NodeUnhealthy, 0), begin))
	require.Equal(t, []yarn.NodeID{{Host: "a1", Port: 1}}, f.nodesChanged(report("a1", yarn.NodeLost, 0), begin))
	require.Equal(t, []ask{{anywhere, 2}}, f.settled(), "among one node there is no choice")
	f.nodesChanged(report("a1", yarn.NodeRunning, 0), begin)
	require.Equal(t, []ask{{"/a", 1}, {"/b", 1}, {"a1", 1}, {"b1", 1}}, f.settled())
}

func TestStrictPreemption(t *testing.T) {
	f := registeredOnA1(3)
	f.preempt([]yarn.ContainerID{{ID: 2}, {ID: 77}}, later(time.Second), begin)
	require.Equal(t, []driverNotice{{[]string{"2"}, driver.DecommissionNotice{Reason: "the ResourceManager preempts its container", Deadline: later(time.Second)}}}, f.takeNotices())
	require.Equal(t, 1, f.containersToAsk())
	ended := f.exits(2, yarn.ExitPreempted, "")
	require.False(t, ended[0].loss.CountsAsFailure)
}

func TestNegotiation(t *testing.T) {
	gigabytes := func(n int32) []yarn.ResourceRequest {
		return []yarn.ResourceRequest{{Containers: n, Resource: yarn.Resource{MemoryMB: 1024, VCores: 1}}}
	}
	ids := func(ids ...int64) (containers []yarn.ContainerID) {
		for _, id := range ids {
			containers = append(containers, yarn.ContainerID{ID: id})
		}
		return containers
	}
	tests := []struct {
		name     string
		contract preemptionContract
		tasks    map[string]int
		back     []string // ids of executors that are released at once, because they have not registered
		leave    []string // ids of executors in the decommission notice to the driver
	}{
		{"one that has not come up goes first", preemptionContract{containers: ids(2), resources: gigabytes(1)}, map[string]int{"1": 0}, []string{"5"}, nil},
		{"then those without a task", preemptionContract{containers: ids(1, 2), resources: gigabytes(2)}, map[string]int{"1": 2, "2": 2, "3": 0, "4": 1}, []string{"5"}, []string{"3"}},
		{"then those that are named", preemptionContract{containers: ids(1, 2), resources: gigabytes(2)}, map[string]int{"1": 9, "2": 2, "3": 1, "4": 1}, []string{"5"}, []string{"2"}},
		{"the youngest, as nothing is known", preemptionContract{containers: ids(1, 2, 3)}, nil, []string{"5"}, []string{"3", "2"}},
		{"no more than the named sum up to", preemptionContract{containers: ids(1), resources: gigabytes(9)}, nil, []string{"5"}, nil},
		{"what is gone already needs no answer", preemptionContract{containers: ids(77), resources: gigabytes(1)}, nil, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := registeredOnA1(5)
			test.contract.deadline = later(time.Minute)
			f.satisfyContract(test.contract, test.tasks, begin)
			var back []string
			for _, ended := range f.takeEnded() {
				require.False(t, ended.reason.countsAsFailure)
				back = append(back, ended.executor.ID)
			}
			require.Equal(t, test.back, back)
			var leave []string
			for _, notice := range f.takeNotices() {
				require.Equal(t, later(time.Minute), notice.notice.Deadline)
				leave = append(leave, notice.ids...)
			}
			require.Equal(t, test.leave, leave)
			require.Len(t, append(back, leave...), f.containersToAsk())
		})
	}
	f := registeredOnA1(5)
	first := preemptionContract{containers: ids(1, 2), resources: gigabytes(2)}
	f.satisfyContract(first, nil, begin)
	f.takeNotices()
	f.satisfyContract(preemptionContract{containers: ids(2), resources: gigabytes(1)}, nil, begin)
	require.Empty(t, f.takeNotices(), "already decommissioning")
}

func TestPreemptionWarning(t *testing.T) {
	tests := []struct {
		hadoop map[string]string
		want   time.Duration
	}{
		{nil, 12 * time.Second},
		{map[string]string{"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill": "60000"}, 57 * time.Second},
		{map[string]string{"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill": "4000"}, 2 * time.Second},
		{map[string]string{
			"yarn.resourcemanager.scheduler.class":                                  "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
			"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill": "60000",
			"yarn.scheduler.fair.waitTimeBeforeKill":                                "10000",
		}, 7 * time.Second},
	}
	for _, test := range tests {
		require.Equal(t, test.want, preemptionWarning(conf.FromMap(test.hadoop), 3*time.Second))
	}
}

// TestALostNodeThatIsBackIsUsable applies the reports that a node is lost and that it is running,
// in either order.
func TestALostNodeThatIsBackIsUsable(t *testing.T) {
	node := yarn.NodeID{Host: "a1", Port: 1}
	for _, gone := range []yarn.NodeState{yarn.NodeLost, yarn.NodeDecommissioned, yarn.NodeShutdown, yarn.NodeRebooted} {
		was, is := yarn.NodeReport{ID: node, State: gone}, yarn.NodeReport{ID: node, State: yarn.NodeRunning}
		for _, order := range [][]yarn.NodeReport{{was, is}, {is, was}} {
			f := twoNodes(1)
			f.settled()
			require.Equal(t, []yarn.NodeID{node}, f.nodesChanged(order, begin), "what it had is lost")
			require.True(t, f.topology.usable("a1"))
			require.Len(t, f.give(containerOn("a1", 1)), 1)
		}
	}
}

// TestAContainerIsTakenFromANodeStillReportedLost allocates a container on a node before the report
// that the node is running again.
func TestAContainerIsTakenFromANodeStillReportedLost(t *testing.T) {
	for _, state := range []yarn.NodeState{yarn.NodeLost, yarn.NodeUnhealthy, yarn.NodeDecommissioned} {
		f := twoNodes(1)
		f.nodesChanged([]yarn.NodeReport{{ID: yarn.NodeID{Host: "a1", Port: 1}, State: state}}, begin)
		f.settled()
		require.Len(t, f.give(containerOn("a1", 1)), 1, state)
		require.Empty(t, f.takeReleases(begin))
	}
}

// TestExecutorsAreReplacedAfterTheOnlyNodeWasLost disconnects the only node between two heartbeats.
// The allocator must not release containers that are allocated when the node is back.
func TestExecutorsAreReplacedAfterTheOnlyNodeWasLost(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			cluster, err := yarntest.New(yarntest.Options{Seed: seed, Nodes: yarntest.Nodes(1, 1, yarn.Resource{MemoryMB: 4096, VCores: 8})})
			require.NoError(t, err)
			defer cluster.Close()
			app := cluster.Submit(yarntest.Submission{})
			a := allocatorOn(t, cluster, app, map[string]string{"executor.instances": "2", "yarn.executor.launchTimeout": "0"}, Options{
				LaunchContext: func(launcher.Executor) yarn.ContainerLaunchContext { return yarn.ContainerLaunchContext{} },
				ExecutorLost:  func(string, driver.Loss) {},
				Random:        seeded(),
			})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- a.Run(ctx) }()
			time.Sleep(20 * time.Second)
			node := cluster.Nodes()[0]
			node.Lose()
			require.NoError(t, node.Reconnect())
			time.Sleep(20 * time.Second)
			cluster.Inspect(func(v yarntest.View) {
				require.Equal(t, 2, v.Running(app.ID()))
				require.Len(t, v.Containers(app.ID()), 4)
			})
			stop()
			require.NoError(t, <-ended)
		})
	}
}
