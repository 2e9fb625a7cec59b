package scheduler

import (
	"fmt"
	"slices"
	"time"
)

// barrier is the state of a barrier set, whose tasks run at the same time.
//
// A barrier set is launched when there are enough free cores for all its tasks, on executors
// that are not excluded for these tasks. It uses the most local cores that are free at that
// time; delay scheduling does not apply. Before its launch, other sets can use all cores. If the
// set has waited for Config.BarrierReserveDelay although all executors together have enough
// cores for it, no other set of its profile is launched until the barrier set is.
//
// If an attempt ends without a result, all other attempts of the set are killed and all its
// tasks are retried. The TaskDone events are returned together, when all tasks have results.
// Tasks of barrier sets have no speculative copies.
type barrier struct {
	// successes contains, for each task, its successful attempt, or 0 if no attempt has
	// succeeded. successCount is the number of successful attempts.
	successes    []AttemptID
	successCount int
	// restarting is true from the time at which an attempt ends without a result until all other
	// attempts of the set, which are then killed, have ended. Then all tasks are retried.
	restarting bool
	// waitingSince is when the set began to wait for free cores. It is the zero time if the set
	// does not wait, or if it needs more cores than all executors together have.
	waitingSince time.Time
}

// offerBarrier launches all tasks of a barrier set or none, and returns how many it launched.
func (p *profile) offerBarrier(set *taskSet) int {
	b, tasks := set.barrier, len(set.states)
	if set.waiting < tasks {
		return 0 // earlier attempts have not ended
	}
	var free []freeExecutor
	slots := 0
	for e := range p.free.atLeast(set.cpus) {
		if n := e.freeSlots(set); n > 0 && !set.excludes(e) {
			free = append(free, freeExecutor{e, n})
			slots += n
		}
	}
	if slots < tasks {
		now := p.delays.clock.now
		switch {
		case p.slots(set) < tasks:
			b.waitingSince = time.Time{}
		case b.waitingSince.IsZero():
			b.waitingSince = now
		}
		if !b.waitingSince.IsZero() && now.Sub(b.waitingSince) >= p.config.BarrierReserveDelay {
			p.coresReserved, p.reservedFor = true, set
		}
		return 0
	}
	executors := set.assign(free)
	if executors == nil {
		return 0
	}
	b.waitingSince = time.Time{}
	for index, e := range executors {
		p.attempts.launch(set, int32(index), e, set.locality(int32(index), e), false)
	}
	return tasks
}

// offerReserved launches the set for which cores are reserved, if enough cores are free.
func (p *profile) offerReserved() {
	set := p.reservedFor
	p.reservedFor = nil
	if set != nil && !set.ended && p.offerBarrier(set) > 0 {
		set.node.Dequeue()
	}
}

// slots returns how many tasks of a set the profile's executors could run at once if all of them
// were idle. Executors that are not available or are excluded for the set do not count.
func (p *profile) slots(set *taskSet) int {
	slots, _ := p.sizes.slots(set)
	if set.exclusion.Any() {
		for _, e := range p.executors {
			if e.available && set.excludes(e) {
				slots -= e.slots(set)
			}
		}
	}
	return slots
}

// freeExecutor is an executor. slots is how many tasks of a set it can run now, in addition to
// its running attempts.
type freeExecutor struct {
	*executor
	slots int
}

// assign chooses an executor for each task of a barrier set, or returns nil if some task cannot
// be placed. It first places the tasks that some executors are excluded for, then tasks that
// prefer a location, then all other tasks, which it spreads over the executors.
func (set *taskSet) assign(free []freeExecutor) []*executor {
	order := make([]int32, len(set.states))
	for i := range order {
		order[i] = int32(i)
	}
	rank := func(index int32) int {
		h := set.histories[index]
		switch {
		case h != nil && h.exclusion.Any():
			return 0
		case len(set.preferred(index)) > 0:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return rank(a) - rank(b) })
	assigned := make([]*executor, len(order))
	for _, index := range order {
		best := -1
		for i := range free {
			if set.histories[index].excludes(free[i].executor) {
				continue
			}
			if best < 0 || set.suitsBetter(index, free[i], free[best]) {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		assigned[index] = free[best].executor
		if free[best].slots--; free[best].slots == 0 {
			free = slices.Delete(free, best, best+1)
		}
	}
	return assigned
}

// suitsBetter reports whether e is better than other for a task: e is more local or, if both are
// equally local, can run more tasks.
func (set *taskSet) suitsBetter(index int32, e, other freeExecutor) bool {
	if len(set.preferred(index)) > 0 {
		if here, there := set.locality(index, e.executor), set.locality(index, other.executor); here != there {
			return here < there
		}
	}
	return e.slots > other.slots
}

// endBarrierAttempt appends the events that follow from the end of an attempt of a barrier
// set.
func (s *Scheduler) endBarrierAttempt(events []Event, a *attempt, outcome Outcome) []Event {
	set, b := a.set, a.set.barrier
	if outcome.Result == ResultSucceeded {
		if !b.restarting {
			return s.bufferResult(events, a)
		}
		outcome.Reason = "its barrier set is tried again"
	}
	failures, events := s.addFailure(events, a, outcome)
	if set.ended {
		return events
	}
	retry := func(index int32, attempt AttemptID, failures int, reason string) {
		set.retry(index)
		events = append(events, AttemptEnded{TaskSet: set.id, Index: int(index), Attempt: attempt, Failures: failures, Reason: reason})
	}
	retry(a.index, a.id, failures, outcome.Reason)
	if !b.restarting {
		reason := fmt.Sprintf("all tasks of the barrier set %s are tried again: task %d has no result: %s", set.name, a.index, outcome.Reason)
		for index, attempt := range b.successes {
			if attempt != 0 {
				h := set.history(int32(index))
				h.attempts++
				b.successes[index] = 0
				retry(int32(index), attempt, h.failures, reason)
			}
		}
		b.successCount = 0
		events = set.kill(events, reason)
	}
	b.restarting = len(set.running) > 0
	set.node.Enqueue()
	return events
}

// bufferResult records the success of an attempt of a barrier set. When all tasks
// have succeeded, it appends their TaskDone events.
func (s *Scheduler) bufferResult(events []Event, a *attempt) []Event {
	set, b := a.set, a.set.barrier
	set.states[a.index] = taskBuffered
	b.successes[a.index] = a.id
	if b.successCount++; b.successCount < len(set.states) {
		return events
	}
	for index, attempt := range b.successes {
		set.states[index] = taskDone
		events = append(events, TaskDone{TaskSet: set.id, Index: index, Attempt: attempt})
	}
	set.done, b.successCount = b.successCount, 0
	return s.endIfDone(events, set)
}
