package scheduler

import (
	"fmt"
	"slices"
	"time"
)

// barrier is what is particular to a set whose tasks run at the same time.
//
// Such a set starts when there are enough free cores for all its tasks, on
// executors where they may run: close to the places that they prefer, but
// without waiting for these. Until then it holds no core, so that sets after it
// run; when it has been passed over for Config.BarrierReserveDelay, though all
// executors together would do, it goes first: no other set of its profile is
// given a core until it has started. So it waits for the attempts that run by
// then, and others wait for it no longer than those take.
//
// Its results count together: when an attempt ends without one, all others are
// killed, what was done is done again, and TaskDone comes for all tasks at the
// end. Its tasks are never copied.
type barrier struct {
	// held are the attempts that succeeded, by task; 0 where none did. count is
	// how many.
	held  []AttemptID
	count int
	// rolling is whether its attempts are being killed.
	rolling bool
	// passed is since when it is passed over; the zero time where it is not.
	passed time.Time
}

// offerBarrier launches all tasks of a set or none.
func (s *Scheduler) offerBarrier(set *taskSet) int {
	b, tasks := set.barrier, len(set.states)
	if set.waiting < tasks {
		return 0 // attempts of the time before still run
	}
	var free []gangExecutor
	slots := 0
	for e := range set.profile.free.atLeast(set.cpus) {
		if n := e.freeSlots(set); n > 0 && !set.excluded.excludes(e) {
			free = append(free, gangExecutor{e, n})
			slots += n
		}
	}
	if slots < tasks {
		switch {
		case s.slots(set) < tasks:
			b.passed = time.Time{}
		case b.passed.IsZero():
			b.passed = s.now
		}
		if !b.passed.IsZero() && s.now.Sub(b.passed) >= s.config.BarrierReserveDelay {
			set.profile.saved, set.profile.savedFor = true, set
		}
		return 0
	}
	places := set.gang(free)
	if places == nil {
		return 0
	}
	b.passed = time.Time{}
	for index, e := range places {
		s.launch(set, int32(index), e, set.locality(int32(index), e), false)
	}
	return tasks
}

// offerSaved has the set for which cores are kept start, if it can by now, ahead
// of all others.
func (s *Scheduler) offerSaved(p *profile) {
	set := p.savedFor
	p.savedFor = nil
	if set == nil || set.over || s.offerBarrier(set) == 0 {
		return
	}
	n := &set.node
	n.dequeue()
	for ; n.parent != nil; n = n.parent {
		if n.queued && n.parent.mode == FAIR {
			n.parent.down(n.at)
		}
	}
}

// slots is how many tasks of a set all executors run at once, if they run
// nothing else.
func (s *Scheduler) slots(set *taskSet) int {
	slots := set.profile.sizes.slots(set)
	if set.excluded != nil {
		for _, e := range s.executors {
			if e.host.profile == set.profile && e.available && set.excluded.excludes(e) {
				slots -= e.slots(set)
			}
		}
	}
	return slots
}

// gangExecutor is an executor and how many more tasks of a set it can run.
type gangExecutor struct {
	*executor
	slots int
}

// gang finds a place for each task of a set, nil if it finds none for one: first
// for those tasks that may not run everywhere, then for those that prefer a
// place, then for the others, spread over the executors.
func (set *taskSet) gang(free []gangExecutor) []*executor {
	order := make([]int32, len(set.states))
	for i := range order {
		order[i] = int32(i)
	}
	rank := func(index int32) int {
		switch {
		case set.histories[index].isExcluded():
			return 0
		case len(set.preferred(index)) > 0:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return rank(a) - rank(b) })
	places := make([]*executor, len(order))
	for _, index := range order {
		best := -1
		for i := range free {
			if set.histories[index].excludes(free[i].executor) {
				continue
			}
			if best < 0 || set.closer(index, free[i], free[best]) {
				best = i
			}
		}
		if best < 0 {
			return nil
		}
		places[index] = free[best].executor
		if free[best].slots--; free[best].slots == 0 {
			free = slices.Delete(free, best, best+1)
		}
	}
	return places
}

// closer is whether an executor suits a task better than another: it is more
// local, or has more room.
func (set *taskSet) closer(index int32, e, other gangExecutor) bool {
	if len(set.preferred(index)) > 0 {
		if here, there := set.locality(index, e.executor), set.locality(index, other.executor); here != there {
			return here < there
		}
	}
	return e.slots > other.slots
}

// locality is how close to the places that it prefers a task is on an executor.
func (set *taskSet) locality(index int32, e *executor) Locality {
	preferred := set.preferred(index)
	if len(preferred) == 0 {
		return NoPref
	}
	best := Any
	for _, i := range preferred {
		switch p := set.places[i]; {
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

// concludeBarrier appends what follows from the end of an attempt of a barrier
// set.
func (s *Scheduler) concludeBarrier(events []Event, a *attempt, outcome Outcome) []Event {
	set, b := a.set, a.set.barrier
	if outcome.Result == Succeeded {
		if !b.rolling {
			return s.holdResult(events, a)
		}
		outcome.Reason = "its barrier set is tried again"
	}
	failures, events := s.fail(events, a, outcome)
	if set.over {
		return events
	}
	events = append(events, set.tryAgain(a.index, a.id, failures, outcome.Reason))
	if !b.rolling {
		reason := fmt.Sprintf("all tasks of the barrier set %s are tried again: task %d has no result: %s", set.name, a.index, outcome.Reason)
		for index, held := range b.held {
			if held != 0 {
				h := set.history(int32(index))
				h.attempts++
				b.held[index] = 0
				events = append(events, set.tryAgain(int32(index), held, h.failures, reason))
			}
		}
		b.count = 0
		events = set.kill(events, reason)
	}
	b.rolling = len(set.running) > 0
	set.node.enqueue()
	return events
}

// tryAgain has a task of a barrier set wait again.
func (set *taskSet) tryAgain(index int32, attempt AttemptID, failures int, reason string) TaskRetry {
	set.comeBack(index)
	return TaskRetry{TaskSet: set.id, Index: int(index), Attempt: attempt, Failures: failures, Reason: reason}
}

// holdResult keeps a success until all tasks have theirs.
func (s *Scheduler) holdResult(events []Event, a *attempt) []Event {
	set, b := a.set, a.set.barrier
	set.states[a.index] = taskHeld
	b.held[a.index] = a.id
	if b.count++; b.count < len(set.states) {
		return events
	}
	for index, held := range b.held {
		set.states[index] = taskDone
		events = append(events, TaskDone{TaskSet: set.id, Index: index, Attempt: held})
	}
	set.done, b.count = b.count, 0
	return s.finish(events, set)
}
