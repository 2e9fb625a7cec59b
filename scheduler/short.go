package scheduler

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

const (
	// mostAtOnce is about how many tasks one offer launches of a set of short ones.
	mostAtOnce = 1 << 11
	// enoughAhead is about how many of them wait at executors before a set pauses. It is
	// some 10 ms of work for the owner, so nothing would be gained by more, and of so
	// many, what is known of each is still in the processor's cache when it ends.
	enoughAhead = 1 << 14
	// exchangeTasks is as many tasks as take the owner as long as the messages to and
	// from an executor.
	exchangeTasks = int(exchange / leastDriverTime)
	// pauseAhead is how long it pauses for then: the executors that have tasks may be
	// slow, or hang, and further ones get some all the same where few tasks end.
	pauseAhead = 20 * time.Millisecond
	// pauseUntimed is how long it does so before any of its own tasks has ended: long
	// enough for short ones to do so, and short enough that all executors soon have some
	// where they prove to be long.
	pauseUntimed = 2 * time.Millisecond
	// leastDriverTime is about the least that an owner takes for a task. Where
	// Config.LaunchAhead is so long that executors need more than enoughAhead to be busy
	// until the owner comes back to them, that is how many wait.
	leastDriverTime = 500 * time.Nanosecond
	// shortBy is by how many times tasks are shorter than Config.LaunchAhead where their
	// set is offered executor by executor.
	shortBy = 4
	// longBy is by how many times Config.LaunchAhead tasks are long before those that
	// wait are called back.
	longBy = 2
)

// offerShort hands out cores to a set of short tasks that nobody competes with,
// executor by executor, each with what is to wait there, so that all of it goes
// in one message. Those that came back last are first: where these can run what
// the owner can send, the others' connections stay quiet, and executors that are not
// needed fall idle. Tasks for which an executor is not close enough yet are left to
// offerPool. It returns false where it stopped halfway, so that of a million tasks the
// first are sent, and some have ended, before the last are looked at.
//
// Where the set's own tasks have not been timed yet, it is done only if there is
// enough for all cores, and with short pauses: a few tasks that turned out to be long
// would otherwise be together on a few executors.
func (s *Scheduler) offerShort(p *profile) (finished bool) {
	set := p.alone()
	switch {
	case set == nil || s.barriers > 0 || !s.isShort(set) || set.isChoosy():
		return true
	case !set.pace.own && set.waiting+len(set.running) < p.sizes.slots(set) || set.pace.mean() > s.config.LaunchAhead/shortBy:
		return true
	}
	return s.offerEach(set)
}

// offerEach is offerShort for a set that is to be offered so.
func (s *Scheduler) offerEach(set *taskSet) (finished bool) {
	for e := range set.candidates() {
		if s.stopShort(set, e) {
			set.settled = false // it has not seen all that is free
			return false
		}
		if set.waiting == 0 {
			break
		}
		for s.offerOne(set, e, NoPref) {
		}
		s.launchAheadOn(set, e)
	}
	if set.waiting == 0 || set.profile.free.top < set.cpus {
		s.setDelayed(set, false) // it took all that it was offered
	}
	return true
}

// candidates are the executors that may take tasks of a set of short ones. In those
// that a settled set has left, there was nothing that it could take without a wait.
func (set *taskSet) candidates() iter.Seq[*executor] {
	p := set.profile
	if !set.settled || !set.prefers() {
		return p.free.latestFirst(set.cpus)
	}
	return func(yield func(*executor) bool) {
		for _, e := range slices.Backward(p.freed) {
			if e.isFree(set) && !yield(e) {
				return
			}
		}
	}
}

// stopShort is whether no further executor gets tasks of a set in this offer, where
// the next one would be e.
func (s *Scheduler) stopShort(set *taskSet, e *executor) bool {
	full := set.queued+set.profile.queues*exchangeTasks >= s.enoughAhead && !s.comesBack(set, e)
	pauses := full && s.pauses(set)
	switch {
	case !pauses && len(s.launches) < s.mostAtOnce:
		return false
	case !full && !s.hasNear(set, e):
		return false // it gets none in any case, and neither may those behind it
	case !full:
		s.more = true
		return true
	case !pauses:
		s.pause(set)
	}
	if s.resume == 0 || set.paused < s.resume {
		s.resume = set.paused
	}
	return true
}

// pause has a set pause.
func (s *Scheduler) pause(set *taskSet) {
	length := pauseAhead
	if !set.pace.own {
		length = pauseUntimed
	}
	set.paused, set.endedBefore = s.clock+length, set.ended()
}

// pauses is whether a set pauses. It goes on doing so where enough of its tasks have
// ended since: then executors that have some do not hang, and wait for the owner.
func (s *Scheduler) pauses(set *taskSet) bool {
	if s.clock < set.paused {
		return true
	}
	if set.paused == 0 || set.ended()-set.endedBefore < s.enoughAhead/2 {
		return false
	}
	s.pause(set)
	return true
}

// ended is how many tasks of a set neither wait nor run.
func (set *taskSet) ended() int { return len(set.states) - set.waiting - len(set.running) }

// comesBack is whether an executor has had tasks of a set ahead and came back from them
// lately. It gets more in any case: those that hang must not hold it up.
func (s *Scheduler) comesBack(set *taskSet, e *executor) bool {
	return e.ahead == set.id && (e.freed || s.clock-e.offered < pauseAhead)
}

// alone is the only set of a profile that has anything to launch; nil where there
// is none, or may be several.
func (p *profile) alone() *taskSet {
	n := p.root
	for n.set == nil {
		if len(n.queue) != 1 {
			return nil
		}
		n = n.queue[0]
	}
	return n.set
}

// callBack appends an event for each attempt that waits at its executor, once,
// where the set's tasks have proved to be long after it was launched.
func (s *Scheduler) callBack(events []Event, set *taskSet) []Event {
	if set.callable == 0 || set.over || set.pace.mean() <= longBy*s.config.LaunchAhead {
		return events
	}
	waiting := slices.DeleteFunc(slices.Clone(set.running), func(a *attempt) bool { return !a.ahead || a.calledBack })
	slices.SortFunc(waiting, func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	for _, a := range waiting {
		a.calledBack = true
		events = append(events, CallBack{Attempt: a.id, Executor: a.executor.ID})
	}
	set.callable = 0
	return events
}
