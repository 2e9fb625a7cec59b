package scheduler

import "slices"

// Preferences are the executors and hosts on which a task prefers to run.
type Preferences struct {
	// Executors are ids of executors. An attempt on one of these executors is process-local. Ids
	// of executors that do not exist have no effect.
	Executors []string
	// Hosts are names of hosts. An attempt on one of these hosts is node-local, an attempt in
	// the rack of one of these hosts is rack-local. Hosts should include the hosts of Executors.
	Hosts []string
}

type taskState uint8

const (
	// taskFresh: the task waits for its first launch.
	taskFresh taskState = iota
	// taskRetry: the task waits to be launched again.
	taskRetry
	taskRunning
	// taskBuffered: the task belongs to a barrier set and has a result. The result is reported
	// when all tasks of the set have results.
	taskBuffered
	taskDone
)

// backlog contains the tasks of one set, and lists of its waiting tasks by preferred location.
type backlog struct {
	states           []taskState
	cpus             int // number of cores that each task uses
	waiting, retries int // numbers of tasks that wait to be launched, and of waiting tasks that were launched before
	// availableCounts contains a count for each level of locality:
	//   - ProcessLocal: available executors that waiting tasks prefer
	//   - NodeLocal: hosts that waiting tasks prefer and that have an available executor
	//   - RackLocal: racks that contain a host that waiting tasks prefer, and that have an
	//     available executor
	//   - NoPref: waiting tasks without preferences
	availableCounts [Localities]int
	// noPref lists waiting tasks without preferences, withPreferences all other waiting tasks.
	noPref, withPreferences pendingTasks

	locations  []*preferredLocation
	executors  map[string]*preferredLocation
	hosts      map[*host]*preferredLocation
	racks      map[*rack]*rackGroup
	rackGroups []*rackGroup // the values of racks, in the order in which they were added
	// taskLocations[firstLocation[i]:firstLocation[i+1]] are the indexes in locations of the
	// locations that task i prefers. Both slices are nil if no task has preferences.
	taskLocations, firstLocation []int32

	demand *Demand // demand of the set's resource profile, which includes waiting tasks
	// mustAvoid reports whether a task that waits for a retry must not run on an executor.
	mustAvoid func(index int32, e *executor) bool
}

// listAll sets the state of all tasks to taskFresh and adds the tasks to the lists.
func (b *backlog) listAll(c *cluster, tasks int, preferences func(int) Preferences) {
	b.states = make([]taskState, tasks)
	b.noPref.end = int32(tasks)
	if preferences != nil {
		b.addAllPreferences(c, tasks, preferences)
	}
	b.availableCounts[NoPref] = int(b.noPref.end)
	b.addWaiting(tasks, tasks-b.availableCounts[NoPref])
}

// addAllPreferences lists each task at its preferred locations, or in noPref.
func (b *backlog) addAllPreferences(c *cluster, tasks int, preferences func(int) Preferences) {
	b.executors, b.hosts, b.racks = map[string]*preferredLocation{}, map[*host]*preferredLocation{}, map[*rack]*rackGroup{}
	b.firstLocation = make([]int32, 1, tasks+1)
	b.noPref.fresh = []int32{}
	for index := range int32(tasks) {
		b.addPreferences(c, preferences(int(index)))
		if int(b.firstLocation[index]) == len(b.taskLocations) {
			b.noPref.fresh = append(b.noPref.fresh, index)
		}
		b.firstLocation = append(b.firstLocation, int32(len(b.taskLocations)))
	}
	b.noPref.end = int32(len(b.noPref.fresh))
	if len(b.taskLocations) == 0 {
		b.firstLocation, b.noPref.fresh = nil, nil
		return
	}
	b.withPreferences.end = int32(tasks)
	b.listFresh()
	for _, p := range b.locations {
		if p.host != nil && p.host.rack != nil {
			b.addToRackGroup(p)
		}
		b.countAt(p, len(p.fresh))
	}
}

// addPreferences adds the preferred locations of one task. It must be called for the tasks in
// the order of their indexes.
func (b *backlog) addPreferences(c *cluster, preferences Preferences) {
	start := len(b.taskLocations)
	add := func(p *preferredLocation) {
		if !slices.Contains(b.taskLocations[start:], p.number) {
			b.taskLocations = append(b.taskLocations, p.number)
			p.end++
		}
	}
	for _, id := range preferences.Executors {
		p := b.executors[id]
		if p == nil {
			p = b.newLocation()
			if e := c.executors[id]; e != nil && e.available {
				p.executor = e
			}
			b.executors[id] = p
		}
		add(p)
	}
	for _, name := range preferences.Hosts {
		h := c.hosts[name]
		p := b.hosts[h]
		if p == nil {
			p = b.newLocation()
			p.host = c.reference(name)
			b.hosts[p.host] = p
		}
		add(p)
	}
}

func (b *backlog) newLocation() *preferredLocation {
	p := &preferredLocation{number: int32(len(b.locations))}
	b.locations = append(b.locations, p)
	return p
}

// listFresh fills each location's list of tasks, ordered by index. The caller must have set the
// end field of each location to the length of its list. All lists share one allocation.
func (b *backlog) listFresh() {
	room := make([]int32, len(b.taskLocations))
	for _, p := range b.locations {
		p.fresh, room = room[:0:p.end], room[p.end:]
	}
	for index := range int32(len(b.states)) {
		for _, i := range b.preferred(index) {
			b.locations[i].fresh = append(b.locations[i].fresh, index)
		}
	}
}

// addToRackGroup adds a preferred host to the group of its rack.
func (b *backlog) addToRackGroup(p *preferredLocation) {
	g := b.racks[p.host.rack]
	if g == nil {
		g = &rackGroup{rack: p.host.rack}
		b.racks[g.rack] = g
		b.rackGroups = append(b.rackGroups, g)
	}
	p.group = g
	g.list(p)
	if p.waiting > 0 {
		b.countInRack(g, 1)
	}
}

// removeAll removes all tasks when the set has ended.
func (b *backlog) removeAll(c *cluster) {
	b.addWaiting(-b.waiting, b.availableCounts[NoPref]-b.waiting)
	for _, p := range b.locations {
		if p.host != nil {
			p.host.waiting -= p.waiting
			c.release(p.host)
		}
	}
	*b = backlog{states: b.states, cpus: b.cpus}
}

// preferred returns the indexes in b.locations of a task's preferred locations.
func (b *backlog) preferred(index int32) []int32 {
	if b.firstLocation == nil {
		return nil
	}
	return b.taskLocations[b.firstLocation[index]:b.firstLocation[index+1]]
}

// hasPreferences reports whether any waiting task has preferences.
func (b *backlog) hasPreferences() bool { return b.waiting > b.availableCounts[NoPref] }

// pop finds a waiting task that an executor can run at a level of locality, removes it from the
// list for that level, and returns the task's index; -1 if there is no such task. A caller that
// launches the task must call launched.
func (b *backlog) pop(e *executor, level Locality) int32 {
	switch level {
	case ProcessLocal:
		if p := b.executors[e.ID]; p != nil {
			return p.pop(b, e)
		}
	case NodeLocal:
		if p := b.hosts[e.host]; p != nil {
			return p.pop(b, e)
		}
	case RackLocal:
		if g := b.racks[e.host.rack]; g != nil {
			return g.pop(b, e)
		}
	case NoPref:
		return b.noPref.pop(b, e)
	case Any:
		return b.withPreferences.pop(b, e)
	}
	return -1
}

// launched changes a waiting task's state to running.
func (b *backlog) launched(index int32) {
	if b.states[index] == taskRetry {
		b.retries--
	}
	b.states[index] = taskRunning
	b.count(index, -1)
}

// retry changes a launched task's state to taskRetry. The caller must then call listRetry,
// except for barrier sets.
func (b *backlog) retry(index int32) {
	b.states[index] = taskRetry
	b.retries++
	b.count(index, 1)
}

// listRetry adds a task that must be retried to the lists of its preferred locations. Barrier
// sets do not use these lists, because all their tasks are launched together.
func (b *backlog) listRetry(index int32) {
	preferred := b.preferred(index)
	if len(preferred) == 0 {
		b.noPref.retries = append(b.noPref.retries, index)
	} else {
		b.withPreferences.retries = append(b.withPreferences.retries, index)
	}
	for _, i := range preferred {
		p := b.locations[i]
		p.retries = append(p.retries, index)
		if p.group != nil {
			p.group.list(p)
		}
	}
}

// count updates the counts of waiting tasks when a task begins to wait (change is 1) or stops
// waiting (change is -1).
func (b *backlog) count(index int32, change int) {
	preferred := b.preferred(index)
	if len(preferred) == 0 {
		b.availableCounts[NoPref] += change
		b.addWaiting(change, 0)
	} else {
		b.addWaiting(change, change)
	}
	for _, i := range preferred {
		b.countAt(b.locations[i], change)
	}
}

// addWaiting changes the number of waiting tasks by tasks, and the number of waiting tasks with
// preferences by withPreferences.
func (b *backlog) addWaiting(tasks, withPreferences int) {
	b.waiting += tasks
	b.demand.WaitingTasks += tasks
	b.demand.WaitingCPUs += tasks * b.cpus
	b.demand.TasksWithPreferences += withPreferences
}

// countAt adds change to the number of waiting tasks that prefer a location.
func (b *backlog) countAt(p *preferredLocation, change int) {
	crossed := changeAcrossZero(&p.waiting, change)
	if p.host == nil {
		if p.executor != nil {
			b.availableCounts[ProcessLocal] += crossed
		}
		return
	}
	p.host.waiting += change
	if p.host.available > 0 {
		b.availableCounts[NodeLocal] += crossed
	}
	if p.group != nil {
		b.countInRack(p.group, crossed)
	}
}

// countInRack adds change to the number of preferred hosts of a rack that have waiting tasks.
func (b *backlog) countInRack(g *rackGroup, change int) {
	crossed := changeAcrossZero(&g.waiting, change)
	if g.rack.available > 0 {
		b.availableCounts[RackLocal] += crossed
	}
}

// changeAcrossZero changes a count. It returns 1 if the count rises from 0, -1 if it falls
// to 0, else 0.
func changeAcrossZero(count *int, change int) int {
	before := *count
	*count += change
	switch {
	case before == 0 && *count > 0:
		return 1
	case before > 0 && *count == 0:
		return -1
	default:
		return 0
	}
}

// executorChanged updates availableCounts when an executor becomes available (change is 1) or
// unavailable (change is -1).
func (b *backlog) executorChanged(e *executor, change int) {
	if p := b.executors[e.ID]; p != nil {
		p.executor = nil
		if change > 0 {
			p.executor = e
		}
		if p.waiting > 0 {
			b.availableCounts[ProcessLocal] += change
		}
	}
	// Hosts and racks are counted only while they have an available executor. So the counts
	// change only with the first available executor (change is 1) or the last one (change is
	// -1).
	first := max(change, 0)
	if e.host.available == first {
		if p := b.hosts[e.host]; p != nil && p.waiting > 0 {
			b.availableCounts[NodeLocal] += change
		}
	}
	if r := e.host.rack; r != nil && r.available == first {
		if g := b.racks[r]; g != nil && g.waiting > 0 {
			b.availableCounts[RackLocal] += change
		}
	}
}

// rackBecameKnown updates rack groups and availableCounts when a host's rack becomes known.
func (b *backlog) rackBecameKnown(h *host) {
	if g := b.racks[h.rack]; g != nil && g.waiting > 0 && h.available > 0 && h.rack.available == h.available {
		b.availableCounts[RackLocal]++
	}
	if p := b.hosts[h]; p != nil {
		b.addToRackGroup(p)
	}
}

// locality returns the level of locality of a task on an executor.
func (b *backlog) locality(index int32, e *executor) Locality {
	preferred := b.preferred(index)
	if len(preferred) == 0 {
		return NoPref
	}
	best := Any
	for _, i := range preferred {
		switch p := b.locations[i]; {
		case p.executor == e:
			return ProcessLocal
		case p.host == nil:
		case p.host == e.host:
			best = NodeLocal
		case p.host.rack != nil && p.host.rack == e.host.rack:
			best = min(best, RackLocal)
		}
	}
	return best
}
