package scheduler

import "slices"

// pending is the waiting tasks that share a location, in the order in which they are
// launched. A task is in several of them. It stays listed when it is launched
// through another one, and is dropped when it becomes the first.
type pending struct {
	// fresh are the tasks without an attempt, by index; if it is nil, all tasks
	// from 0 to end. Those before next are used up.
	fresh     []int32
	next, end int32
	// retries are the tasks that wait for another attempt. They go first.
	retries []int32
}

// pop removes and returns the first task that may run on an executor, or -1.
func (p *pending) pop(b *backlog, e *executor) int32 {
	for i := 0; i < len(p.retries); {
		index := p.retries[i]
		waits := b.states[index] == taskRetry
		if waits && b.avoids(index, e) {
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

// location is an executor or a host that tasks of a set prefer.
type location struct {
	pending
	// number is its index among the set's locations.
	number int32
	// waiting is how many waiting tasks prefer it.
	waiting int
	// executor is nil if it is not available, host if the location is an executor.
	executor *executor
	host     *host
	// group is that of the host's rack, nil if the rack is not known; listed reports
	// whether the host is in the group's rotation.
	group  *rackGroup
	listed bool
}

// rackGroup is the hosts of one rack that tasks of a set prefer.
type rackGroup struct {
	rack *rack
	// hosts provide a task each in rotation; next is the index of the next one.
	// Those without waiting tasks are dropped when they are reached.
	hosts []*location
	next  int
	// waiting is how many of the hosts have waiting tasks.
	waiting int
}

// pop removes and returns a task of the next host that has one for the executor,
// or -1.
func (g *rackGroup) pop(b *backlog, e *executor) int32 {
	for left := len(g.hosts); left > 0; {
		if g.next >= len(g.hosts) {
			g.next = 0
		}
		p := g.hosts[g.next]
		if p.waiting == 0 {
			p.listed = false
			g.hosts[g.next] = g.hosts[len(g.hosts)-1]
			g.hosts = g.hosts[:len(g.hosts)-1]
			left = len(g.hosts) // the host that moved here may have been visited
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

// list adds a host to the rotation, unless it is listed.
func (g *rackGroup) list(p *location) {
	if !p.listed {
		p.listed = true
		g.hosts = append(g.hosts, p)
	}
}
