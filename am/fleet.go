package am

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// fleet is the executors that the application has and wants: a state machine
// with no I/O and no clock. The allocator tells it what the ResourceManager, the
// launcher and the driver said, and asks it what to tell them. What it does in
// one turn grows with what has changed, not with the number of executors.
type fleet struct {
	size          func(profile.Profile) yarn.Resource
	launchTimeout time.Duration // 0 for none
	taskCPUs      int
	random        *rand.Rand
	ignoresCores  bool // as the cluster's scheduler does

	tables   []*table // in the order of their priorities
	topology *topology
	excluded *exclusions
	tally    *tally
	logger   *slog.Logger

	executors map[yarn.ContainerID]*executor
	byID      map[string]*executor
	byNode    map[yarn.NodeID][]*executor
	states    [executorStates]int // executors in each
	lastID    int
	expected  []*executor // those that have to register, in the order of their times

	releases  []yarn.ContainerID                 // to be told to the ResourceManager
	told      []release                          // those that were, in order
	releasing map[yarn.ContainerID]yarn.NodeID   // all whose ends are not confirmed, and where they are
	unheard   map[yarn.NodeID][]yarn.ContainerID // those whose ends were waited for in vain

	strays map[yarn.ContainerID]struct{} // containers that ended and were not known, of the answer at hand

	ended     []lost      // not told yet
	notices   []notice    // not told yet
	withdrawn []*executor // not told yet
	stopped   bool        // no executor is wanted any more
	changed   bool        // something that is shown
}

// lost is an executor that has ended, and how.
type lost struct {
	executor *executor
	status   yarn.ExitStatus
	verdict  verdict
	loss     driver.Loss
}

// fleetOptions configure a fleet.
type fleetOptions struct {
	size          func(profile.Profile) yarn.Resource
	racks         map[string]string // of the nodes that are known
	excluded      *exclusions
	tally         *tally
	launchTimeout time.Duration
	taskCPUs      int
	random        *rand.Rand
	logger        *slog.Logger
}

func newFleet(options fleetOptions) *fleet {
	return &fleet{
		size:          options.size,
		launchTimeout: options.launchTimeout,
		taskCPUs:      max(1, options.taskCPUs),
		random:        options.random,
		topology:      newTopology(options.racks),
		excluded:      options.excluded,
		tally:         options.tally,
		logger:        options.logger,
		executors:     map[yarn.ContainerID]*executor{},
		byID:          map[string]*executor{},
		byNode:        map[yarn.NodeID][]*executor{},
		releasing:     map[yarn.ContainerID]yarn.NodeID{},
		unheard:       map[yarn.NodeID][]yarn.ContainerID{},
		strays:        map[yarn.ContainerID]struct{}{},
	}
}

// want takes the driver's newest request, and reports whether more executors
// are wanted than before. Executors that are too many now and have not been
// started are given back.
func (f *fleet) want(request driver.Request, now time.Time) (more bool) {
	if f.stopped {
		return false
	}
	f.changed = true
	f.excluded.want(request.ExcludedNodes)
	demands := map[int32]driver.Demand{}
	for _, demand := range request.Demands {
		priority := priorityOf(demand.Profile)
		demands[priority] = demand
		at, found := slices.BinarySearchFunc(f.tables, priority, func(t *table, p int32) int { return cmp.Compare(priorityOf(t.profile), p) })
		if !found {
			f.tables = slices.Insert(f.tables, at, newTable(demand.Profile, f.size(demand.Profile), f.topology.rackOf))
		}
	}
	for _, table := range f.tables {
		missing := table.missing()
		demand, wanted := demands[priorityOf(table.profile)]
		if !wanted {
			demand = driver.Demand{Profile: table.profile}
		}
		if (demand.Total > 0) != (table.demand.Total > 0) {
			f.excluded.recount()
		}
		table.want(demand)
		for _, e := range table.surplus() {
			f.giveUp(e, notNeeded, "is not needed any more, and was not started yet", now)
		}
		more = more || table.missing() > missing
	}
	return more
}

// toAsk is how many containers should be asked for and are not there.
func (f *fleet) toAsk() int {
	n := 0
	for _, table := range f.tables {
		n += table.toAsk()
	}
	return n
}

// tick does what is due by time alone. clusterNodes is how many NodeManagers
// the ResourceManager has.
func (f *fleet) tick(now time.Time, clusterNodes int) {
	if f.excluded.refresh(now, func() nodeCounts { return countNodes(f.topology, clusterNodes, f.needs()) }) {
		f.replan()
		f.leaveExcluded(now)
	}
	f.expire(now)
	f.forgetReleases(now)
	for _, table := range f.tables {
		if table.backoff.over(now) {
			table.dirty, f.changed = true, true
		}
	}
}

// needs are what executors that are wanted ask of nodes.
func (f *fleet) needs() []need {
	var needs []need
	for _, table := range f.tables {
		if table.demand.Total == 0 {
			continue
		}
		n := need{table.size, table.profile.NodeLabel}
		if f.ignoresCores {
			n.size.VCores = 0
		}
		needs = append(needs, n)
	}
	return needs
}

// cameToNothing notes a container that was asked for and serves nobody.
func (f *fleet) cameToNothing(t *table, what string, now time.Time) {
	if t.backoff.failed(what, now) {
		f.changed = true
		f.logger.Warn(t.backoff.text(), "profile", t.profile.ID, "pause", t.backoff.pause)
	}
}

// replan has all places chosen anew.
func (f *fleet) replan() {
	f.changed = true
	for _, table := range f.tables {
		table.dirty = true
	}
}

// due reports whether a table's asks are to be worked out again. Otherwise the
// places that were chosen before are as good as others.
func (t *table) due() bool {
	n := t.toAsk()
	return n != t.asks.outstanding() || t.dirty && n > 0
}

// wantsChanges reports whether changes would return any row, or may.
func (f *fleet) wantsChanges() bool { return slices.ContainsFunc(f.tables, (*table).due) }

// changes are the rows to send so that what is asked for is what is missing, at
// the best places.
func (f *fleet) changes() []yarn.ResourceRequest {
	var rows []yarn.ResourceRequest
	for _, table := range f.tables {
		if !table.due() {
			continue
		}
		table.dirty = false
		f.changed = true
		rows = append(rows, table.requests(table.asks.change(table.toAsk(), place(f.scene(table))))...)
	}
	return rows
}

// scene is what the places for a table's executors depend on.
func (f *fleet) scene(t *table) scene {
	s := scene{
		missing: t.toAsk(), choosy: t.choosy(f.taskCPUs), hostTasks: t.demand.HostTasks,
		placed: t.placed, inRack: t.inRack, asked: t.asks.believed,
		usable: func(host string) bool {
			return !f.excluded.has(host) && (!f.topology.known() || f.topology.usable(host))
		},
		rackOf:  f.topology.knownRack,
		shuffle: f.random.Shuffle,
	}
	// Of which nodes have a label nothing is known, so none are named.
	if len(s.hostTasks) == 0 && t.profile.NodeLabel == "" {
		s.nodes = f.topology.usableHosts()
		if len(f.excluded.force) > 0 {
			s.nodes = slices.DeleteFunc(slices.Clone(s.nodes), f.excluded.has)
		}
	}
	return s
}

// take makes executors of allocated containers and returns them. Those closest
// to what was asked for come first: on a host that was named, in its rack,
// anywhere. What is more than wanted, of no profile that is known, or on a node
// where no executor may run goes back unlaunched.
func (f *fleet) take(containers []yarn.Container, now time.Time) []*executor {
	if len(containers) == 0 {
		return nil
	}
	f.changed = true
	type arrival struct {
		container *yarn.Container
		table     *table
		near      closeness
	}
	arrivals := make([]arrival, 0, len(containers))
	for i := range containers {
		container := &containers[i]
		if _, known := f.executors[container.ID]; known {
			continue
		}
		if _, known := f.releasing[container.ID]; known {
			continue
		}
		table := f.tableOf(container.Priority)
		if table == nil {
			f.release(container.ID, container.Node)
			continue
		}
		host := container.Node.Host
		near := table.asks.allocated(host)
		if table.asks.stuck(f.topology.rackOf(host)) {
			table.dirty = true
		}
		if _, over := f.strays[container.ID]; over {
			f.cameToNothing(table, fmt.Sprintf("%s on %s ended before it was told of", container.ID, host), now)
			continue
		}
		if f.excluded.has(host) || f.topology.leaving(container.Node) {
			f.cameToNothing(table, fmt.Sprintf("%s was given back, as its node %s is excluded or being decommissioned", container.ID, host), now)
			f.release(container.ID, container.Node)
			continue
		}
		arrivals = append(arrivals, arrival{container, table, near})
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.near, b.near) })
	taken := make([]*executor, 0, len(arrivals))
	for _, arrival := range arrivals {
		if arrival.table.missing() == 0 {
			f.release(arrival.container.ID, arrival.container.Node)
			continue
		}
		f.lastID++
		executor := &executor{
			id: strconv.Itoa(f.lastID), container: *arrival.container, table: arrival.table,
			rack: f.topology.rackOf(arrival.container.Node.Host),
		}
		f.add(executor)
		taken = append(taken, executor)
	}
	return taken
}

// answered is to be called after a heartbeat's containers have been taken.
func (f *fleet) answered() {
	clear(f.strays)
	for _, table := range f.tables {
		table.asks.answered()
	}
}

// strangers are hosts that tasks prefer and of whose racks nothing is known.
func (f *fleet) strangers() []string {
	unknown := map[string]struct{}{}
	for _, table := range f.tables {
		for host := range table.demand.HostTasks {
			if f.topology.stranger(host) {
				unknown[host] = struct{}{}
			}
		}
	}
	return slices.Sorted(maps.Keys(unknown))
}

func (f *fleet) tableOf(priority int32) *table {
	for _, table := range f.tables {
		if priorityOf(table.profile) == priority {
			return table
		}
	}
	return nil
}

func (f *fleet) add(e *executor) {
	f.executors[e.container.ID] = e
	f.byID[e.id] = e
	f.byNode[e.container.Node] = append(f.byNode[e.container.Node], e)
	f.states[e.state]++
	e.table.add(e)
}

// become moves an executor to another state.
func (f *fleet) become(e *executor, state executorState) {
	f.changed = true
	f.states[e.state]--
	f.states[state]++
	if e.state.counts() && !state.counts() {
		e.table.remove(e)
	}
	e.state = state
}

func (f *fleet) remove(e *executor) {
	f.changed = true
	f.states[e.state]--
	if e.state.counts() {
		e.table.remove(e)
	}
	delete(f.executors, e.container.ID)
	delete(f.byID, e.id)
	node := e.container.Node
	there := f.byNode[node]
	if at := slices.Index(there, e); at >= 0 {
		there = slices.Delete(there, at, at+1)
	}
	if len(there) == 0 {
		delete(f.byNode, node)
	} else {
		f.byNode[node] = there
	}
}

// resent is for a ResourceManager that restarted: it is told everything again.
func (f *fleet) resent() {
	for _, table := range f.tables {
		table.asks.forget()
	}
	f.excluded.forget()
	f.told = nil
	f.releases = slices.SortedFunc(maps.Keys(f.releasing), func(a, b yarn.ContainerID) int { return cmp.Compare(a.ID, b.ID) })
}

// stop gives up all executors: the application is over.
func (f *fleet) stop() {
	f.stopped = true
	for _, table := range f.tables {
		table.want(driver.Demand{Profile: table.profile})
	}
	for _, executor := range slices.SortedFunc(maps.Values(f.executors), youngestFirst) {
		f.become(executor, stateEnding)
		f.release(executor.container.ID, executor.container.Node)
	}
}

// held reports whether the application has containers, or asks for any.
func (f *fleet) held() bool {
	for _, table := range f.tables {
		if table.asks.outstanding() > 0 {
			return true
		}
	}
	return len(f.executors) > 0 || len(f.releasing) > 0
}

// running is how many executors are registered and at work.
func (f *fleet) running() int { return f.states[stateRegistered] }

// text names an executor in what is said of it.
func (e *executor) text(what string) string {
	return fmt.Sprintf("executor %s (%s on %s) %s", e.id, e.container.ID, e.host(), what)
}
