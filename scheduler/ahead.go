package scheduler

import (
	"iter"
	"math"
	"time"
)

const (
	// mostAhead is how many tasks wait at the most for each that an executor can
	// run at a time.
	mostAhead = 512
	// mostAtOne is how many wait at the most at one executor of very many cores, but
	// for one for each of these.
	mostAtOne = 1 << 12
	// exchange is about how long it takes the owner to send tasks to an executor and to
	// hear how they ended, however many they are.
	exchange = 32 * time.Microsecond
	// refillAt, in eighths, is how much of what an executor may have waiting it has at
	// the most when it gets more. It speaks when half is left of what it had been
	// sent, and what it may have is less by then where tasks took a little longer.
	refillAt = 5
)

// queue is the attempts that were launched ahead and wait at an executor for
// cores, in the order in which it starts them.
type queue struct {
	first, last *attempt
	length      int
}

func (q *queue) push(a *attempt) {
	a.ahead = true
	if q.length == 0 {
		a.set.profile.queues++
	}
	a.set.queued++
	a.set.callable++
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
	a.ahead, a.previous, a.next = false, nil, nil
	a.set.queued--
	if !a.calledBack {
		a.set.callable--
	}
	if q.length--; q.length == 0 {
		a.set.profile.queues--
	}
}

// Ahead is whether an attempt was launched ahead and waits for a core of its
// executor, by all that is known here. It may run by now.
func (s *Scheduler) Ahead(id AttemptID) bool {
	a := s.attempts.Get(id)
	return a != nil && a.ahead
}

// launchAhead launches tasks on executors whose cores are taken, where their
// tasks are so short that a core would wait longer for its next one than it
// runs it. See Config.LaunchAhead.
//
// It is done for a set that nothing else competes with, so that nobody's share
// or turn is touched; for tasks that never ran, and while none that came back
// waits for the executor, so that those go first, and one whose executor was lost
// or that was given back has a core of its own; and at no worse a place than the
// set's best, so that no locality is lost by it.
func (s *Scheduler) launchAhead(p *profile) {
	if s.config.LaunchAhead <= 0 || s.barriers > 0 || p.demand.WaitingTasks == 0 {
		return
	}
	for _, e := range p.freed {
		if !e.available || len(e.running) == 0 {
			continue
		}
		set := e.running[len(e.running)-1].set
		s.launchAheadOn(set, e)
		if set.waiting == 0 {
			s.setDelayed(set, false)
			return
		}
	}
}

// launchAheadOn launches as many tasks of a set ahead as are to wait at an executor.
func (s *Scheduler) launchAheadOn(set *taskSet, e *executor) {
	room, last := s.roomAhead(set, e)
	if room == 0 || set.over || set.waiting != set.profile.demand.WaitingTasks || e.queue.length > room*refillAt/8 {
		return
	}
	s.makeRoom(e, min(room-e.queue.length, set.waiting))
	for p, locality := range s.near(set, e) {
		for e.queue.length < room {
			index := p.takeFresh(set)
			if index < 0 {
				break
			}
			set.setWaiting(index, -1)
			set.states[index] = taskRunning
			s.start(set, index, e, Launch{Locality: locality, Ahead: true, Last: last})
			e.ahead = set.id
		}
	}
}

// roomAhead is how many tasks of a set may wait at an executor, and whether it needs
// to ask for more only when none of them is left; see Launch.Last.
func (s *Scheduler) roomAhead(set *taskSet, e *executor) (room int, last bool) {
	switch {
	case !s.isShort(set) || e.free >= set.cpus || len(set.requests) > 0 || set.stragglers.wanted > 0 || set.excluded.excludes(e):
		return 0, false
	case set.returned > 0 && s.hasReturned(set, e):
		return 0, false
	}
	slots := time.Duration(e.Cores / set.cpus)
	most := min(slots*min(s.config.LaunchAhead/set.pace.mean(), mostAhead), max(slots, mostAtOne))
	// The last tasks are for all executors, but for so many as are worth sending. What
	// executors have got already counts: each has its part at once then, not a part of
	// what is left again and again.
	all := time.Duration(max(set.profile.sizes.fit(set), 1))
	tasks := time.Duration(set.waiting + len(set.running))
	least := time.Duration(0)
	if set.pace.own {
		least = set.pace.worthSending(slots, tasks)
		tasks += all - 1 // what is left over may go with any of them
	}
	share := tasks/all - slots
	return int(min(most, max(share, least))), share < most || s.hasIdle(set, e)
}

// hasIdle is whether another executor that could run what an executor gets of a set
// has been left idle by it for longer than a task may wait. Then executors run all that
// the owner sends, and each message that it does not get is worth more than one that
// comes in time.
func (s *Scheduler) hasIdle(set *taskSet, e *executor) bool {
	free := &set.profile.free
	switch {
	case len(set.executors) > 0:
		return false // those tasks are for one executor
	case set.prefers():
		free = &e.host.free
	}
	if free.top < set.cpus {
		return false
	}
	oldest := free.lists[free.top].first
	return !oldest.freed && s.clock-max(oldest.offered, set.submitted) > s.config.LaunchAhead && !set.excluded.excludes(oldest)
}

// hasReturned is whether what an executor would take next, of the best that a set has
// for it, is a task that came back.
func (s *Scheduler) hasReturned(set *taskSet, e *executor) bool {
	for p := range s.near(set, e) {
		if p.hasReturned(set) {
			return true
		}
		if p.nextFresh(set) >= 0 {
			return false
		}
	}
	return false
}

// hasNear is whether a task of a set waits that an executor may run without a wait for
// a better place.
func (s *Scheduler) hasNear(set *taskSet, e *executor) bool {
	for p := range s.near(set, e) {
		if p.hasReturned(set) || p.nextFresh(set) >= 0 {
			return true
		}
	}
	return false
}

// worthSending is how many of the tasks that are left an executor that runs so many at
// a time gets even where others then have none: all of them end soonest where it takes
// as long to send them off, in parts of that size, as to run one part.
func (p *pace) worthSending(slots, tasks time.Duration) time.Duration {
	return time.Duration(math.Sqrt(float64(tasks) * float64(exchange*slots) / p.nanos))
}

// near goes through the waiting tasks of a set that an executor may run without a wait
// for a better place, the best place first.
func (s *Scheduler) near(set *taskSet, e *executor) iter.Seq2[*pending, Locality] {
	return func(yield func(*pending, Locality) bool) {
		if p := set.executors[e.ID]; p != nil && !yield(&p.pending, ProcessLocal) {
			return
		}
		if p := set.hosts[e.host]; p != nil {
			if level, _ := s.allowed(set); level >= NodeLocal && !yield(&p.pending, NodeLocal) {
				return
			}
		}
		yield(&set.noPref, NoPref)
	}
}

// promote gives free cores to those that wait for them.
func (s *Scheduler) promote(e *executor) {
	for first := e.queue.first; first != nil && first.set.cpus <= e.free; first = e.queue.first {
		e.queue.remove(first)
		first.since = s.clock
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
