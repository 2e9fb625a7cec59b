package scheduler

// SetWindow sets an executor's window: how many attempts of a task set may be queued at the
// executor in addition to the attempts that use its cores. An executor has only one window; a
// call replaces the window of the previous call. An unknown executor is ignored.
func (s *Scheduler) SetWindow(executor string, taskSet uint64, attempts int) {
	if e := s.executors[executor]; e != nil {
		e.window, e.windowSet = attempts, taskSet
		if e.available {
			e.profile.markNewlyFree(e)
		}
	}
}

// QueuedAt returns how many attempts are queued at an executor. The number includes attempts
// that the executor has started since it last reported the end of an attempt.
func (s *Scheduler) QueuedAt(executor string) int {
	if e := s.executors[executor]; e != nil {
		return e.queue.length
	}
	return 0
}

// fillWindows queues attempts of the set that gets the next free core, at executors with a
// window for that set.
//
// It queues only tasks that were not launched before, and only at the open levels of locality up
// to NoPref. A task to be retried is launched on a free core instead, because then, if the
// executor is lost, it is known that the task was running.
func (p *profile) fillWindows() {
	leaf := p.pools.OnlyCandidate()
	if leaf == nil {
		return
	}
	set := leaf.Leaf
	if len(set.requests) > 0 || set.retries > 0 || set.speculativeCopies.neededCount > 0 {
		return
	}
	for _, e := range p.newlyFree {
		if !e.available || e.windowSet != set.id || e.Cores < set.cpus {
			continue
		}
		for e.queue.length < e.window && p.launchBest(set, e, NoPref, true) {
			p.queuedSet = set
		}
	}
	if !set.HasWork() {
		p.delays.setRunning(set, false) // the set has no waiting task, so it leaves no core unused
		set.node.Dequeue()
	}
}

// recallQueued recalls the queued attempts of a set if another set may now get free cores before
// that set.
func (p *profile) recallQueued(events []Event) []Event {
	queued := p.queuedSet
	if queued == nil || !p.pools.HasWork() {
		return events
	}
	if first := p.pools.OnlyCandidate(); first == queued.node || first != nil && queued.node.Precedes(first) {
		return events
	}
	p.queuedSet = nil
	for _, e := range sortedByOrder(p.executors) {
		events = e.recall(events)
	}
	return events
}

// recall appends a Recall of the executor's queued attempts, if there are any.
func (e *executor) recall(events []Event) []Event {
	if e.queue.length == 0 {
		return events
	}
	return append(events, Recall{Executor: e.ID})
}
