package scheduler

import (
	"cmp"
	"slices"
)

const (
	// mostAtOnce is about how many tasks one offer launches of a set of short ones.
	mostAtOnce = 1 << 11
	// enoughAhead is about how many of them wait at executors before those that have
	// nothing yet get any. It is what an owner hears of in a hundredth of a second or
	// more, so no executor waits for it in vain; and of so many, what is known of each
	// is still in the processor's cache when it ends.
	enoughAhead = 1 << 14
)

// offerShort hands out cores to a set of short tasks that nobody competes with,
// executor by executor, each with what is to wait there, so that all of it goes
// in one message. It returns false where it stopped halfway, so that of a million
// tasks the first are sent, and some have ended, before the last are looked at.
//
// Where the set's own tasks have not been timed yet, it is done only if there is
// enough for all cores: a few tasks that turned out to be long would otherwise be
// together on a few executors.
func (s *Scheduler) offerShort(p *profile) (finished bool) {
	set := p.alone()
	switch {
	case set == nil || s.barriers > 0 || !s.isShort(set) || set.prefers() || set.isChoosy():
		return true
	case !set.pace.own && set.waiting < p.sizes.slots(set) || set.pace.mean > s.config.LaunchAhead/undivided:
		return true
	}
	for e := range p.free.atLeast(set.cpus) {
		if len(s.launches) >= mostAtOnce || set.queued >= enoughAhead {
			set.settled = false // it has not seen all that is free
			s.more = set.queued < enoughAhead
			return false
		}
		for e.free >= set.cpus {
			index := set.noPref.take(set, e)
			if index < 0 {
				return true
			}
			s.launch(set, index, e, NoPref)
		}
		s.launchAheadOn(set, e)
	}
	return true
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

// callBack appends an event for each attempt that waits at its executor, where the
// set's tasks have proved to be long after they were launched. It does so once.
func (s *Scheduler) callBack(events []Event, set *taskSet) []Event {
	if set.queued == 0 || set.calledBack || set.over || s.isShort(set) {
		return events
	}
	set.calledBack = true
	waiting := slices.DeleteFunc(slices.Clone(set.running), func(a *attempt) bool { return !a.ahead })
	slices.SortFunc(waiting, func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	for _, a := range waiting {
		events = append(events, CallBack{Attempt: a.id, Executor: a.executor.ID})
	}
	return events
}
