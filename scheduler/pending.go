package scheduler

import "slices"

// pendingTasks is a list of waiting tasks in the order in which they are launched. There is a
// list for each location, of the tasks that prefer the location, a list of the tasks without
// preferences, and a list of all tasks with preferences. A task may be in several lists. When it
// is launched from one list, it stays in the others until pop reaches it.
type pendingTasks struct {
	// fresh are the indexes of the tasks that have not been launched; nil means the indexes from
	// 0 to end-1. The tasks fresh[:next] have been removed from the list.
	fresh     []int32
	next, end int32
	// retries are the indexes of tasks to retry. They are launched before the fresh tasks.
	retries []int32
}

// pop removes the first task that may run on e, and returns its index; -1 if no task may.
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
	number  int32 // index in backlog.locations
	waiting int   // number of waiting tasks that prefer the location
	// executor is set if the location is an executor that is available. host is set if the
	// location is a host.
	executor *executor
	host     *host
	// group is the group of the host's rack; nil if the rack is not known. inRotation is true
	// while group.hosts contains the host.
	group      *rackGroup
	inRotation bool
}

// rackGroup contains the hosts of one rack that tasks of one set prefer.
type rackGroup struct {
	rack *rack
	// Tasks are launched from the lists of hosts in turn, one from each. next is the index of
	// the next host. A host without waiting tasks is removed when its turn comes.
	hosts   []*preferredLocation
	next    int
	waiting int // number of preferred hosts with waiting tasks
}

// pop removes a task that may run on e from the next host with such a task, and returns the
// task's index; -1 if there is none.
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
			left = len(g.hosts) // visit all hosts again: the host moved to g.next may not have been visited
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

// list adds a preferred host to g.hosts, unless g.hosts already contains it.
func (g *rackGroup) list(p *preferredLocation) {
	if !p.inRotation {
		p.inRotation = true
		g.hosts = append(g.hosts, p)
	}
}
