package scheduler

import "slices"

// pending is the waiting tasks of a set that share a place, in the order in
// which they go. A task is in several of them; one that was launched through
// another is passed over when its turn comes, so that each is looked at once.
type pending struct {
	// fresh are the tasks that never ran, by index; where it is nil, all from 0
	// to end are. They are used up from next on.
	fresh     []int32
	next, end int32
	// returned are those that ran and have to run again: they go first.
	returned []int32
}

// take removes the first task that may run on the executor and returns it, or
// -1.
func (p *pending) take(set *taskSet, e *executor) int32 {
	for i := 0; i < len(p.returned); {
		index := p.returned[i]
		waits := set.states[index] == taskRetried
		if waits && set.avoids(index, e) {
			i++
			continue
		}
		if i == 0 {
			p.returned = p.returned[1:]
		} else {
			p.returned = slices.Delete(p.returned, i, i+1)
		}
		if waits {
			return index
		}
	}
	return p.takeFresh(set)
}

// takeFresh removes the first task that never ran and returns it, or -1.
func (p *pending) takeFresh(set *taskSet) int32 {
	for p.next < p.end {
		index := p.next
		if p.fresh != nil {
			index = p.fresh[p.next]
		}
		p.next++
		if set.states[index] == taskFresh {
			return index
		}
	}
	return -1
}

// place is an executor or a host that tasks of a set prefer.
type place struct {
	pending
	// number is its index among the set's places.
	number int32
	// waiting is how many waiting tasks of the set prefer it.
	waiting int
	// host is nil for an executor's place.
	host *host
	// group is the rack's of a host, where it is known; listed is whether the
	// host is in the group's list.
	group  *rackGroup
	listed bool
	// executor is nil where it is not there or gets no tasks.
	executor *executor
}

// rackGroup is the hosts of one rack that tasks of a set prefer.
type rackGroup struct {
	rack *rack
	// hosts are those with waiting tasks, and some that have none any more. They
	// give a task each in turn, from next on.
	hosts []*place
	next  int
	// waiting is how many of the rack's hosts have waiting tasks.
	waiting int
}

// take removes a task of the next host that has one for the executor and
// returns it, or -1.
func (g *rackGroup) take(set *taskSet, e *executor) int32 {
	for left := len(g.hosts); left > 0; {
		if g.next >= len(g.hosts) {
			g.next = 0
		}
		p := g.hosts[g.next]
		if p.waiting == 0 {
			p.listed = false
			g.hosts[g.next] = g.hosts[len(g.hosts)-1]
			g.hosts = g.hosts[:len(g.hosts)-1]
			left = len(g.hosts) // the one moved here may have had its turn
			continue
		}
		left--
		g.next++
		if index := p.take(set, e); index >= 0 {
			return index
		}
	}
	return -1
}

// list makes a host with waiting tasks take its turn.
func (g *rackGroup) list(p *place) {
	if !p.listed {
		p.listed = true
		g.hosts = append(g.hosts, p)
	}
}

// putBack lists a returned task at its places.
func (set *taskSet) putBack(index int32) {
	preferred := set.preferred(index)
	if len(preferred) == 0 {
		set.noPref.returned = append(set.noPref.returned, index)
	} else {
		set.anywhere.returned = append(set.anywhere.returned, index)
	}
	for _, i := range preferred {
		p := set.places[i]
		p.returned = append(p.returned, index)
		if p.group != nil {
			p.group.list(p)
		}
	}
	set.settled = false
}

// setWaiting counts a task that now waits (1) or waits no more (-1) wherever
// waiting tasks are counted.
func (set *taskSet) setWaiting(index int32, change int) {
	set.waiting += change
	d := &set.profile.demand
	d.WaitingTasks += change
	d.WaitingCPUs += change * set.cpus
	preferred := set.preferred(index)
	if len(preferred) == 0 {
		set.live[NoPref] += change
	} else {
		d.TasksWithPreferences += change
	}
	for _, i := range preferred {
		set.places[i].count(set, change)
	}
}

// count changes how many tasks of the set wait for a place, and with it which
// levels of locality are live.
func (p *place) count(set *taskSet, change int) {
	turn := crossing(&p.waiting, change)
	if p.host == nil {
		if p.executor != nil {
			set.live[ProcessLocal] += turn
		}
		return
	}
	p.host.waiting += change
	if p.host.executors > 0 {
		set.live[NodeLocal] += turn
	}
	if p.group != nil {
		p.group.count(set, turn)
	}
}

// count changes how many hosts of the group have waiting tasks.
func (g *rackGroup) count(set *taskSet, change int) {
	turn := crossing(&g.waiting, change)
	if g.rack.executors > 0 {
		set.live[RackLocal] += turn
	}
}

// crossing changes a count and returns 1 when that makes it positive, -1 when
// that makes it 0, else 0.
func crossing(count *int, change int) int {
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
