package allocator

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// managedCluster simulates the requests, the blacklist and the containers of a ResourceManager.
type managedCluster struct {
	profiles     map[int32]resourceManagerTable
	blacklist    map[string]bool
	alive        map[yarn.ContainerID]yarn.Container
	started      map[yarn.ContainerID]bool
	last         int64
	allocated    []yarn.Container       // containers that the next answer contains as allocated
	completed    []yarn.ContainerStatus // ends of containers that the next answer contains
	old          []yarn.ContainerStatus // ends that answers have contained, and that a restarted ResourceManager reports again
	reports      []yarn.NodeReport      // node reports that the next answer contains
	unregistered bool                   // set from a restart of the ResourceManager until the application has registered again
}

func newManagedCluster() *managedCluster {
	return &managedCluster{profiles: map[int32]resourceManagerTable{}, blacklist: map[string]bool{}, alive: map[yarn.ContainerID]yarn.Container{}, started: map[yarn.ContainerID]bool{}}
}

func (c *managedCluster) allocate(priority int32, host string) {
	if c.unregistered || c.blacklist[host] || !c.profiles[priority].allocate(host) {
		return
	}
	c.last++
	container := containerOn(host, c.last)
	container.Priority = priority
	c.alive[container.ID] = container
	c.allocated = append(c.allocated, container)
}

func (c *managedCluster) end(id yarn.ContainerID, exit yarn.ExitStatus) {
	if _, ok := c.alive[id]; ok {
		delete(c.alive, id)
		c.completed = append(c.completed, yarn.ContainerStatus{ID: id, State: yarn.ContainerComplete, ExitStatus: exit})
	}
}

// restart restarts the ResourceManager. The ResourceManager then does not know containers that no
// NodeManager has started. Launches of these containers fail.
func (c *managedCluster) restart(f *state, now time.Time) {
	c.profiles, c.blacklist = map[int32]resourceManagerTable{}, map[string]bool{}
	for _, container := range c.allocated {
		delete(c.alive, container.ID)
	}
	for id := range c.alive {
		if !c.started[id] {
			delete(c.alive, id)
			f.launchFailed(id, yarn.ErrInvalidContainer, now)
		}
	}
	c.allocated, c.unregistered = nil, true
	c.completed = append(c.completed, c.old...)
}

// history is a state with its simulated cluster in a test.
type history struct {
	*rapid.T
	cluster *managedCluster
	state   *state
	now     time.Time
}

var historyHosts = []string{"a1", "a2", "b1", "c1"}

// heartbeat sends a heartbeat to the cluster and applies the answer.
func (h *history) heartbeat() {
	f, c := h.state, h.cluster
	if c.unregistered {
		c.unregistered = false
		f.resendAll()
	}
	f.tick(h.now, len(historyHosts))
	for _, row := range f.changedAsks() {
		if c.profiles[row.Priority] == nil {
			c.profiles[row.Priority] = resourceManagerTable{}
		}
		c.profiles[row.Priority].set(row.Name, int(row.Containers))
	}
	for _, id := range f.takeReleases(h.now) {
		c.end(id, yarn.ExitAborted)
	}
	add, remove := f.excluded.changes()
	for _, host := range add {
		require.False(h, c.blacklist[host])
		c.blacklist[host] = true
	}
	for _, host := range remove {
		require.True(h, c.blacklist[host])
		delete(c.blacklist, host)
	}
	f.completed(c.completed, h.now)
	c.old = append(c.old, c.completed...)
	f.nodesChanged(c.reports, h.now)
	f.tick(h.now, len(historyHosts))
	taken := f.addAllocated(c.allocated, h.now)
	f.responseApplied()
	c.completed, c.reports, c.allocated = nil, nil, nil

	for _, profile := range f.profiles {
		for executor := range profile.starting {
			require.False(h, f.excluded.has(executor.host()), "an executor that is to be started on an excluded node")
		}
	}
	for _, executor := range taken {
		require.False(h, f.excluded.has(executor.host()), "an executor on an excluded node")
		require.False(h, f.topology.decommissioning(executor.Container.Node), "an executor on a node that is being decommissioned")
		require.LessOrEqual(h, executor.profile.live, executor.profile.demand.Total, "more executors than wanted")
	}
	for id := range c.alive {
		_, isExecutor := f.executors[id]
		_, goesBack := f.releasing[id]
		require.True(h, isExecutor || goesBack, "container %v leaked", id)
	}
	for _, profile := range f.profiles {
		require.Equal(h, nonZero(c.profiles[priorityOf(profile.Profile)]), nonZero(profile.asks.knownToManager), "both sides must agree on what is asked for")
	}
	h.consistent()
}

// consistent counts the executors again, and compares the result with the counts in state.
func (h *history) consistent() {
	f := h.state
	var states [executorStates]int
	nodes := map[yarn.NodeID]int{}
	for id, executor := range f.executors {
		require.Equal(h, id, executor.Container.ID)
		require.Same(h, executor, f.byID[executor.ID])
		states[executor.state]++
		nodes[executor.Container.Node]++
		_, goesBack := f.releasing[id]
		require.Equal(h, executor.state == stateEnding, goesBack)
	}
	require.Equal(h, states, f.states)
	require.Len(h, f.byID, len(f.executors))
	require.Len(h, f.byNode, len(nodes))
	for node, count := range nodes {
		require.Len(h, f.byNode[node], count)
	}
	for _, profile := range f.profiles {
		live, starting, placed, inRack := 0, 0, map[string]int{}, map[string]int{}
		for _, executor := range f.executors {
			if executor.profile == profile && executor.state.counts() {
				live++
				if !executor.accepted {
					starting++
				}
				placed[executor.host()]++
				inRack[executor.rack]++
			}
		}
		require.Equal(h, live, profile.live)
		require.Len(h, profile.starting, starting)
		require.True(h, live <= profile.demand.Total || starting == 0, "surplus executors that were not started")
		require.Equal(h, placed, profile.byHost)
		require.Equal(h, inRack, profile.byRack)
	}
}

// step makes one random event happen, between two heartbeats.
func (h *history) step() {
	f, c := h.state, h.cluster
	host := rapid.SampledFrom(historyHosts)
	anExecutor := func() *executor {
		ids := slices.SortedFunc(maps.Keys(f.executors), func(a, b yarn.ContainerID) int { return int(a.ID - b.ID) })
		if len(ids) == 0 {
			return nil
		}
		return f.executors[rapid.SampledFrom(ids).Draw(h.T, "executor")]
	}
	switch rapid.IntRange(0, 10).Draw(h.T, "what") {
	case 0:
		request := driver.Request{ExcludedNodes: rapid.SliceOfNDistinct(host, 0, 2, rapid.ID[string]).Draw(h.T, "excluded")}
		for id := range rapid.IntRange(0, 2).Draw(h.T, "profiles") {
			request.Demands = append(request.Demands, driver.Demand{
				Profile: profile.Profile{ID: id, Memory: 1 << 30, Cores: 1}, Total: rapid.IntRange(0, 6).Draw(h.T, "total"),
				HostTasks: rapid.MapOf(rapid.SampledFrom([]string{"a1", "a2", "b1", "c1", "c7"}), rapid.IntRange(1, 9)).Draw(h.T, "tasks"),
			})
		}
		f.want(request, h.now)
	case 1, 2, 3:
		c.allocate(int32(rapid.IntRange(1, 2).Draw(h.T, "priority")), host.Draw(h.T, "on"))
	case 4:
		if e := anExecutor(); e != nil {
			c.end(e.Container.ID, rapid.SampledFrom([]yarn.ExitStatus{0, 1, yarn.ExitPreempted, yarn.ExitAborted}).Draw(h.T, "exit"))
		}
	case 5:
		if e := anExecutor(); e != nil {
			f.kill([]string{e.ID}, h.now)
		}
	case 6:
		if e := anExecutor(); e != nil {
			f.registered(e.ID)
			c.started[e.Container.ID] = true
		}
	case 7:
		if e := anExecutor(); e != nil {
			if rapid.Bool().Draw(h.T, "starts") {
				f.launched(e.Container.ID, h.now)
				c.started[e.Container.ID] = true
			} else {
				f.launchFailed(e.Container.ID, rapid.SampledFrom([]error{errors.New("no"), yarn.ErrNodeNotReady}).Draw(h.T, "error"), h.now)
			}
		}
	case 8:
		state := rapid.SampledFrom([]yarn.NodeState{yarn.NodeRunning, yarn.NodeRunning, yarn.NodeDecommissioning, yarn.NodeLost, yarn.NodeUnhealthy}).Draw(h.T, "state")
		node := yarn.NodeID{Host: host.Draw(h.T, "node"), Port: 1}
		c.reports = append(c.reports, yarn.NodeReport{ID: node, Rack: rackOfLetter(node.Host), State: state})
		if state != yarn.NodeRunning && state != yarn.NodeDecommissioning {
			for id, container := range c.alive {
				if container.Node == node {
					c.end(id, yarn.ExitAborted)
				}
			}
		}
	case 9:
		if e := anExecutor(); e != nil {
			if rapid.Bool().Draw(h.T, "strict") {
				f.preempt([]yarn.ContainerID{e.Container.ID}, h.now.Add(time.Second), h.now)
			} else {
				f.satisfyContract(preemptionContract{containers: []yarn.ContainerID{e.Container.ID}}, nil, h.now)
			}
		}
	case 10:
		if rapid.IntRange(0, 3).Draw(h.T, "restart") == 0 {
			c.restart(f, h.now)
		}
		h.now = h.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(h.T, "minutes")) * time.Minute)
	}
}

// TestStateWithRandomEvents checks that a state never has more executors than wanted, that every
// container has an executor or is released, and that no executor is started on an excluded node.
// After each heartbeat, the state and the ResourceManager must agree on the number of requested
// containers. In the end, all missing executors must be requested.
func TestStateWithRandomEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		racks := map[string]string{}
		for _, host := range historyHosts {
			racks[host] = rackOfLetter(host)
		}
		h := &history{T: t, cluster: newManagedCluster(), now: begin, state: newState(stateOptions{

			racks:         racks,
			excluded:      newExclusions(nil, true, 2, time.Hour, slog.New(slog.DiscardHandler)),
			failures:      &failureCounts{max: 1 << 30},
			launchTimeout: 30 * time.Minute,
			random:        seeded(),
			logger:        slog.New(slog.DiscardHandler),
		})}
		for range rapid.IntRange(1, 20).Draw(t, "heartbeats") {
			for range rapid.IntRange(0, 5).Draw(t, "steps") {
				h.step()
			}
			h.heartbeat()
		}
		h.heartbeat()
		h.now = h.now.Add(maxPause)
		h.heartbeat()
		for _, profile := range h.state.profiles {
			require.Equal(t, profile.missing(), profile.asks.outstanding())
		}
		h.state.stop()
		for range 3 {
			h.heartbeat()
		}
		h.now = h.now.Add(releaseTimeout)
		h.heartbeat()
		require.False(t, h.state.hasContainers())
		require.Empty(t, h.cluster.alive)
	})
}
