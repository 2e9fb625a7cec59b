package scheduler

// queue is the attempts that wait at an executor for a core, in the order in
// which it starts them.
type queue struct {
	first, last *attempt
	length      int
}

func (q *queue) push(a *attempt) {
	a.state = attemptQueued
	if a.previous = q.last; a.previous == nil {
		q.first = a
	} else {
		a.previous.next = a
	}
	q.last = a
	q.length++
}

func (q *queue) remove(a *attempt) {
	if a.previous == nil {
		q.first = a.next
	} else {
		a.previous.next = a.next
	}
	if a.next == nil {
		q.last = a.previous
	} else {
		a.next.previous = a.previous
	}
	a.previous, a.next = nil, nil
	q.length--
}

// SetWindow says how many tasks of a set an executor queues beyond those that its
// cores run. It holds until the executor's next grant. An executor or a set that
// is not there is no error.
func (s *Scheduler) SetWindow(executor string, taskSet uint64, tasks int) {
	if e := s.executors[executor]; e != nil {
		e.window, e.windowSet = tasks, taskSet
		if e.available {
			e.noteFreed()
		}
	}
}

// fillWindows queues tasks of the set that comes first at executors that granted
// a window to it and have no free core.
//
// A queued task has never run, and is as close to its data as the set's locality
// wait asks for: what came back after a failure or a loss waits for a core of its
// own, so that it is known to have had one if it takes its executor down.
func (s *Scheduler) fillWindows(p *profile) {
	set := p.sole()
	if set == nil || s.barriers > 0 || len(set.requests) > 0 || set.returned > 0 || set.stragglers.wanted > 0 {
		return
	}
	for _, e := range p.freed {
		if !e.available || e.windowSet != set.id || e.Cores < set.cpus {
			continue
		}
		for e.queue.length < e.window && s.takeBest(set, e, NoPref, true) {
			p.queuedSet = set
		}
	}
	if !set.wants() {
		s.setDelayed(set, false) // it leaves no core unused
		set.node.dequeue()
	}
}

// sole is the set that takes the next free core whichever executor has it: the
// first of a FIFO pool, the only one of a FAIR pool. It is nil where sets share
// the cores, and where none has anything to launch.
func (p *profile) sole() *taskSet {
	n := p.root
	for n.set == nil {
		if len(n.queue) == 0 || n.mode == FAIR && len(n.queue) > 1 {
			return nil
		}
		n = n.queue[0]
	}
	return n.set
}

// recallFromWindows takes queued tasks back where another set has a right to the
// cores that they wait for.
func (s *Scheduler) recallFromWindows(events []Event, p *profile) []Event {
	queued := p.queuedSet
	if queued == nil || len(p.root.queue) == 0 {
		return events
	}
	if first := p.sole(); first == queued || first != nil && queued.node.precedes(&first.node) {
		return events
	}
	p.queuedSet = nil
	for _, e := range s.inOrder() {
		if e.host.profile == p {
			events = e.recall(events)
		}
	}
	return events
}

// precedes is whether a set gets what it wants before another of its pool does.
func (n *schedulable) precedes(other *schedulable) bool {
	return n.parent == other.parent && n.parent.mode == FIFO && n.rank.compare(other.rank) < 0
}

// recall appends the event that has an executor give back the tasks that wait
// there, if there are any.
func (e *executor) recall(events []Event) []Event {
	if e.queue.length == 0 {
		return events
	}
	return append(events, Recall{Executor: e.ID})
}

// promote gives free cores to those that wait for them. An executor starts what
// waits in order, so these have begun by now.
func (s *Scheduler) promote(e *executor) {
	for first := e.queue.first; first != nil && first.set.cpus <= e.free; first = e.queue.first {
		e.queue.remove(first)
		first.state, first.since = attemptDequeued, s.clock
		s.holdCores(first)
	}
}

// holdCores gives an attempt its cores.
func (s *Scheduler) holdCores(a *attempt) {
	set, e := a.set, a.executor
	setFree(e, e.free-set.cpus)
	set.node.hold(set.cpus)
	set.profile.demand.RunningCPUs += set.cpus
}
