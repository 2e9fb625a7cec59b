package scheduler

import "slices"

// pendingTasks is a list of waiting tasks in the order in which they are launched. There
// is a list for each location (the tasks that prefer it), one for tasks without
// preferences, and one for all tasks with preferences. A task may be in several
// lists. A task launched from one list stays in its other lists until pop reaches it there.
type pendingTasks struct {
	// fresh are the indexes of the tasks that were not launched before; nil means all
	// indexes below end. fresh[:next] are no longer in the list.
	fresh     []int32
	next, end int32
	// retries are the indexes of tasks to retry. They are launched before the fresh ones.
	retries []int32
}

// pop removes the first task that may run on e, and returns its index; -1 if none may.
func (p *pendingTasks) pop(b *backlog, e *executor) int32 {
	for i := 0; i < len(p.retries); {
		index := p.retries[i]
		waits := b.states[index] == taskRetry
		if waits && b.mustAvoid(index, e) {
			i++
			continue
		}
		if i == 0 {
			p.retries = p.retries[1:]
		} else {
			p.retries = slices.Delete(p.retries, i, i+1)
		}
		if waits {
			return index
		}
	}
	for p.next < p.end {
		index := p.next
		if p.fresh != nil {
			index = p.fresh[p.next]
		}
		p.next++
		if b.states[index] == taskFresh {
			return index
		}
	}
	return -1
}

// preferredLocation is an executor or a host that tasks of one set prefer.
type preferredLocation struct {
	pendingTasks
	number  int32 // index among the set's locations
	waiting int   // number of waiting tasks that prefer the location
	// executor is set if the location is an available executor, host if it is a host.
	executor *executor
	host     *host
	// group is the group of the host's rack, nil if the rack is not known. inRotation
	// is set while the host is in group.hosts.
	group      *rackGroup
	inRotation bool
}

// rackGroup is the hosts of one rack that tasks of one set prefer.
type rackGroup struct {
	rack *rack
	// hosts give one task each in rotation; next is the index of the host whose
	// turn is next. Hosts without waiting tasks are dropped when their turn comes.
	hosts   []*preferredLocation
	next    int
	waiting int // number of the hosts with waiting tasks
}

// pop removes a task from the next host that has one for e, and returns its index or -1.
func (g *rackGroup) pop(b *backlog, e *executor) int32 {
	for left := len(g.hosts); left > 0; {
		if g.next >= len(g.hosts) {
			g.next = 0
		}
		p := g.hosts[g.next]
		if p.waiting == 0 {
			p.inRotation = false
			g.hosts[g.next] = g.hosts[len(g.hosts)-1]
			g.hosts = g.hosts[:len(g.hosts)-1]
			left = len(g.hosts) // visit all hosts again, because the moved host may have been visited, and another not yet
			continue
		}
		left--
		g.next++
		if index := p.pop(b, e); index >= 0 {
			return index
		}
	}
	return -1
}

// list adds a host to the rotation, unless it is already there.
func (g *rackGroup) list(p *preferredLocation) {
	if !p.inRotation {
		p.inRotation = true
		g.hosts = append(g.hosts, p)
	}
}
