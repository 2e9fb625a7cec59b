package allocator

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/am/launcher"
	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// state is a state machine for the executors that the application has and wants. It does no I/O and
// reads no clock. The cost of an iteration of the event loop in Run depends on the number of
// changes, not on the number of executors.
type state struct {
	launchTimeout time.Duration // maximum time from the start of an executor to its registration with the driver; 0 means no limit
	taskCPUs      int           // number of cores for each task; at least 1
	random        *rand.Rand
	ignoresCores  bool // the scheduler of the cluster counts only memory

	profiles []*profileState // sorted by priority
	topology *topology
	excluded *exclusions
	failures *failureCounts
	logger   *slog.Logger

	executors            map[yarn.ContainerID]*executor
	byID                 map[string]*executor
	byNode               map[yarn.NodeID][]*executor
	states               [executorStates]int // number of executors in each state
	lastID               int
	awaitingRegistration []*executor                   // started executors that have a deadline for their registration, sorted by the deadline
	unknownCompleted     map[yarn.ContainerID]struct{} // containers whose end was reported, but not their allocation

	releases            []yarn.ContainerID                 // releases for the next heartbeat
	sentReleases        []sentRelease                      // sent releases, the oldest first
	releasing           map[yarn.ContainerID]yarn.NodeID   // containers whose release, sent or queued, is not confirmed
	unconfirmedReleases map[yarn.NodeID][]yarn.ContainerID // containers whose release was not confirmed within releaseTimeout

	endedToReport       []endedExecutor // ended executors to report to the driver
	notices             []driverNotice  // notices to report to the driver
	releasedBeforeStart []*executor     // executors that were released before they had registered, to report to the launcher
	stopped             bool            // the application has ended and wants no executors
	changed             bool            // the status has changed since its last publication
}

// endedExecutor is an executor that has ended, with the reason.
type endedExecutor struct {
	executor *executor
	status   yarn.ExitStatus
	reason   exitReason
	loss     driver.Loss
}

// stateOptions configure a state.
type stateOptions struct {
	racks         map[string]string // racks of the nodes that are known at the start, by host
	excluded      *exclusions
	failures      *failureCounts
	launchTimeout time.Duration
	taskCPUs      int
	random        *rand.Rand
	logger        *slog.Logger
}

func newState(options stateOptions) *state {
	return &state{
		launchTimeout:       options.launchTimeout,
		taskCPUs:            max(1, options.taskCPUs),
		random:              options.random,
		topology:            newTopology(options.racks),
		excluded:            options.excluded,
		failures:            options.failures,
		logger:              options.logger,
		executors:           map[yarn.ContainerID]*executor{},
		byID:                map[string]*executor{},
		byNode:              map[yarn.NodeID][]*executor{},
		releasing:           map[yarn.ContainerID]yarn.NodeID{},
		unconfirmedReleases: map[yarn.NodeID][]yarn.ContainerID{},
		unknownCompleted:    map[yarn.ContainerID]struct{}{},
	}
}

// want sets the driver's latest request. It reports whether more executors are missing than before.
func (s *state) want(request driver.Request, now time.Time) (more bool) {
	if s.stopped {
		return false
	}
	s.changed = true
	s.excluded.setByDriver(request.ExcludedNodes)
	demands := map[int32]driver.Demand{}
	for _, demand := range request.Demands {
		priority := priorityOf(demand.Profile)
		demands[priority] = demand
		at, found := slices.BinarySearchFunc(s.profiles, priority, func(p *profileState, priority int32) int {
			return cmp.Compare(priorityOf(p.Profile), priority)
		})
		if !found {
			s.profiles = slices.Insert(s.profiles, at, newProfileState(demand.Profile, s.topology.rackOf))
		}
	}
	for _, p := range s.profiles {
		missing := p.missing()
		demand, wanted := demands[priorityOf(p.Profile)]
		if !wanted {
			demand = driver.Demand{Profile: p.Profile}
		}
		if (demand.Total > 0) != (p.demand.Total > 0) {
			s.excluded.invalidate()
		}
		p.want(demand)
		for _, e := range p.surplus() {
			s.giveUp(e, reasonNotNeeded, "is not needed any more, and was not started yet", now)
		}
		more = more || p.missing() > missing
	}
	return more
}

// containersToAsk returns the number of containers to request now, for all profiles.
func (s *state) containersToAsk() int {
	n := 0
	for _, p := range s.profiles {
		n += p.containersToAsk()
	}
	return n
}

// tick applies timeouts and recomputes exclusions. clusterNodes is the number of NodeManagers of
// the cluster.
func (s *state) tick(now time.Time, clusterNodes int) {
	if s.excluded.refresh(now, func() nodeCounts { return countNodes(s.topology, clusterNodes, s.requirements()) }) {
		s.replanAll()
		s.giveUpOnExcluded(now)
	}
	s.expireLaunches(now)
	s.expireReleases(now)
	for _, p := range s.profiles {
		if p.backoff.expire(now) {
			p.replan, s.changed = true, true
		}
	}
}

// requirements returns the requirement of each profile for which the driver wants executors.
func (s *state) requirements() []sizeAndLabel {
	var needs []sizeAndLabel
	for _, p := range s.profiles {
		if p.demand.Total == 0 {
			continue
		}
		n := sizeAndLabel{p.size, p.NodeLabel}
		if s.ignoresCores {
			n.size.VCores = 0
		}
		needs = append(needs, n)
	}
	return needs
}

// containerFailed counts a container that failed, or that was released before it ran an executor.
func (s *state) containerFailed(p *profileState, cause string, now time.Time) {
	if p.backoff.failed(cause, now) {
		s.changed = true
		s.logger.Warn(p.backoff.text(), "profile", p.ID, "pause", p.backoff.pause)
	}
}

// replanAll makes all profiles choose the hosts of their requests again.
func (s *state) replanAll() {
	s.changed = true
	for _, p := range s.profiles {
		p.replan = true
	}
}

// hasAskChanges reports whether changedAsks may return requests.
func (s *state) hasAskChanges() bool {
	return slices.ContainsFunc(s.profiles, (*profileState).asksChanged)
}

// changedAsks returns the changed ResourceRequests for the missing executors.
func (s *state) changedAsks() []yarn.ResourceRequest {
	var requests []yarn.ResourceRequest
	for _, p := range s.profiles {
		if !p.asksChanged() {
			continue
		}
		p.replan = false
		s.changed = true
		requests = append(requests, p.requests(p.asks.change(p.containersToAsk(), place(s.placement(p))))...)
	}
	return requests
}

func (s *state) placement(p *profileState) placement {
	in := placement{
		missing: p.containersToAsk(), localityAware: p.localityAware(s.taskCPUs), hostTasks: p.demand.HostTasks,
		byHost: p.byHost, byRack: p.byRack, asked: p.asks.knownToManager,
		usable: func(host string) bool {
			return !s.excluded.has(host) && (!s.topology.hasNodes() || s.topology.usable(host))
		},
		rackOf:  s.topology.knownRack,
		shuffle: s.random.Shuffle,
	}
	// The requests of a profile with a node label contain no hosts (see profileState.requests).
	if len(in.hostTasks) == 0 && p.NodeLabel == "" {
		in.nodes = s.topology.usableHosts()
		if len(s.excluded.active) > 0 {
			in.nodes = slices.DeleteFunc(slices.Clone(in.nodes), s.excluded.has)
		}
	}
	return in
}

// addAllocated creates executors for allocated containers. It first uses containers on requested
// hosts, and then containers in requested racks. It releases containers on excluded or
// decommissioning nodes, and containers for which no executor is missing.
func (s *state) addAllocated(containers []yarn.Container, now time.Time) []*executor {
	if len(containers) == 0 {
		return nil
	}
	s.changed = true
	type allocated struct {
		container *yarn.Container
		profile   *profileState
		closeness placementLevel
	}
	usable := make([]allocated, 0, len(containers))
	for i := range containers {
		container := &containers[i]
		if _, known := s.executors[container.ID]; known {
			continue
		}
		if _, known := s.releasing[container.ID]; known {
			continue
		}
		p := s.profileWith(container.Priority)
		if p == nil {
			s.release(container.ID, container.Node)
			continue
		}
		host := container.Node.Host
		level := p.asks.allocated(host)
		if p.asks.isStuck(s.topology.rackOf(host)) {
			p.replan = true
		}
		if _, ended := s.unknownCompleted[container.ID]; ended {
			s.containerFailed(p, fmt.Sprintf("%s on %s ended before the ResourceManager reported its allocation", container.ID, host), now)
			continue
		}
		if s.excluded.has(host) || s.topology.decommissioning(container.Node) {
			s.containerFailed(p, fmt.Sprintf("%s was released, as its node %s is excluded or being decommissioned", container.ID, host), now)
			s.release(container.ID, container.Node)
			continue
		}
		usable = append(usable, allocated{container, p, level})
	}
	slices.SortStableFunc(usable, func(a, b allocated) int { return cmp.Compare(a.closeness, b.closeness) })
	taken := make([]*executor, 0, len(usable))
	for _, a := range usable {
		if a.profile.missing() == 0 {
			s.release(a.container.ID, a.container.Node)
			continue
		}
		s.lastID++
		e := &executor{
			Executor: launcher.Executor{ID: strconv.Itoa(s.lastID), Container: *a.container, Profile: a.profile.Profile},
			profile:  a.profile, rack: s.topology.rackOf(a.container.Node.Host),
		}
		s.add(e)
		taken = append(taken, e)
	}
	return taken
}

// responseApplied must be called once for each answer to a heartbeat, after addAllocated.
func (s *state) responseApplied() {
	clear(s.unknownCompleted)
	for _, p := range s.profiles {
		p.asks.responseApplied()
	}
}

// hostsWithoutRack returns the preferred hosts whose racks were never looked up.
func (s *state) hostsWithoutRack() []string {
	unknown := map[string]struct{}{}
	for _, p := range s.profiles {
		for host := range p.demand.HostTasks {
			if !s.topology.hasRack(host) {
				unknown[host] = struct{}{}
			}
		}
	}
	return slices.Sorted(maps.Keys(unknown))
}

func (s *state) profileWith(priority int32) *profileState {
	for _, p := range s.profiles {
		if priorityOf(p.Profile) == priority {
			return p
		}
	}
	return nil
}

func (s *state) add(e *executor) {
	s.executors[e.Container.ID] = e
	s.byID[e.ID] = e
	s.byNode[e.Container.Node] = append(s.byNode[e.Container.Node], e)
	s.states[e.state]++
	e.profile.add(e)
}

func (s *state) setState(e *executor, to executorState) {
	s.changed = true
	s.states[e.state]--
	s.states[to]++
	if e.state.counts() && !to.counts() {
		e.profile.remove(e)
	}
	e.state = to
}

func (s *state) remove(e *executor) {
	s.changed = true
	s.states[e.state]--
	if e.state.counts() {
		e.profile.remove(e)
	}
	delete(s.executors, e.Container.ID)
	delete(s.byID, e.ID)
	node := e.Container.Node
	executors := s.byNode[node]
	if i := slices.Index(executors, e); i >= 0 {
		executors = slices.Delete(executors, i, i+1)
	}
	if len(executors) == 0 {
		delete(s.byNode, node)
	} else {
		s.byNode[node] = executors
	}
}

// resendAll queues all requests, releases and exclusions again, because the ResourceManager has
// restarted.
func (s *state) resendAll() {
	for _, p := range s.profiles {
		p.asks.reset()
	}
	s.excluded.resendAll()
	s.sentReleases = nil
	s.releases = slices.SortedFunc(maps.Keys(s.releasing), func(a, b yarn.ContainerID) int { return cmp.Compare(a.ID, b.ID) })
}

// stop releases all executors. It is called when the application has ended.
func (s *state) stop() {
	s.stopped = true
	for _, p := range s.profiles {
		p.want(driver.Demand{Profile: p.Profile})
	}
	for _, e := range slices.SortedFunc(maps.Values(s.executors), youngestFirst) {
		s.setState(e, stateEnding)
		s.release(e.Container.ID, e.Container.Node)
	}
}

// hasContainers reports whether the application has or requests containers.
func (s *state) hasContainers() bool {
	for _, p := range s.profiles {
		if p.asks.outstanding() > 0 {
			return true
		}
	}
	return len(s.executors) > 0 || len(s.releasing) > 0
}

// running returns the number of registered executors that are not decommissioning.
func (s *state) running() int { return s.states[stateRegistered] }
