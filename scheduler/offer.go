package scheduler

import (
	"slices"
	"time"
)

// Launch is an attempt to start.
type Launch struct {
	Attempt AttemptID
	TaskSet uint64
	// Index is the task's place in its set.
	Index int
	// Number counts the attempts of the task before this one.
	Number int
	// Executor is the id of the executor to start it on.
	Executor string
	Locality Locality
}

// Offer hands out all the free cores that can be handed out at the time now,
// and says what to launch. It costs next to nothing when there is nothing to
// hand out. Call it after anything that adds executors, cores or tasks, and at
// [Scheduler.NextDeadline]. The time must not go back from call to call; where
// it does, it counts as standing still.
func (s *Scheduler) Offer(now time.Time) []Launch {
	if now.After(s.now) {
		s.now = now
	}
	for _, p := range s.profiles {
		s.offerProfile(p)
	}
	launches := s.launches
	s.launches = nil
	return launches
}

// offerProfile hands out the free cores of one profile's executors.
func (s *Scheduler) offerProfile(p *profile) {
	used := false
	for _, set := range p.queue {
		if p.free.top == 0 {
			break
		}
		if p.free.top < set.cpus {
			continue
		}
		s.offerTo(set)
		used = used || set.waiting == 0
		// What it leaves, it leaves for want of a better place.
		s.setDelayed(set, set.waiting > 0 && p.free.top >= set.cpus)
	}
	if used {
		p.queue = slices.DeleteFunc(p.queue, func(set *taskSet) bool {
			set.queued = set.waiting > 0
			return !set.queued
		})
	}
	for i, e := range p.freed {
		e.freed, p.freed[i] = false, nil
	}
	p.freed = p.freed[:0]
}

// offerTo has a set take what it can. Between offers a set that has had its
// fill can only find more on executors that were freed since, or at a level
// that has opened since: the others needn't be looked at.
func (s *Scheduler) offerTo(set *taskSet) {
	level, _ := s.allowed(set)
	set.settledAt = min(set.settledAt, level)
	if set.settled && level == set.settledAt {
		s.offerFreed(set)
		// The last task of a place may have gone, and its level with it.
		level, _ = s.allowed(set)
	}
	if !set.settled || level > set.settledAt {
		s.offerAll(set)
		set.settledAt, _ = s.allowed(set)
		set.settled = true
	}
}

// offerFreed offers a set the cores of the executors freed since the last
// offer.
func (s *Scheduler) offerFreed(set *taskSet) {
	p := set.profile
	p.offered = append(p.offered[:0], p.freed...)
	inTurn(p.offered, func(e *executor) bool {
		return !e.draining && e.free >= set.cpus && s.offerOne(set, e)
	})
}

// offerOne has a set take the best task that it has for an executor.
func (s *Scheduler) offerOne(set *taskSet, e *executor) bool {
	level, _ := s.allowed(set)
	for l := ProcessLocal; l <= Any; l++ {
		if (l <= level || l == NoPref) && s.take(set, e, l) {
			return true
		}
	}
	return false
}

// offerAll offers a set all free cores, level by level.
func (s *Scheduler) offerAll(set *taskSet) {
	for l := ProcessLocal; l <= Any; l++ {
		if level, _ := s.allowed(set); l > level && l != NoPref {
			continue
		}
		if places := set.placesAt(l); places > 0 && places < set.profile.free.executors {
			s.offerAt(set, l)
		} else {
			s.offerEach(set, l)
		}
	}
}

// placesAt is how many places a level has, 0 where it is the whole cluster.
func (set *taskSet) placesAt(level Locality) int {
	switch level {
	case ProcessLocal, NodeLocal:
		return len(set.places)
	case RackLocal:
		return len(set.rackGroups)
	default:
		return 0
	}
}

// offerEach goes through all executors with free cores for tasks of a level.
func (s *Scheduler) offerEach(set *taskSet, level Locality) {
	for e := range set.profile.free.atLeast(set.cpus) {
		if !set.waitsAt(level) {
			return
		}
		s.take(set, e, level)
	}
}

// offerAt goes through the places of a level for executors with free cores.
func (s *Scheduler) offerAt(set *taskSet, level Locality) {
	if !set.waitsAt(level) {
		return
	}
	if level == ProcessLocal {
		var executors []*executor
		for _, p := range set.places {
			if p.executor != nil && p.waiting > 0 {
				executors = append(executors, p.executor)
			}
		}
		inTurn(executors, func(e *executor) bool {
			return e.free >= set.cpus && s.take(set, e, level)
		})
		return
	}
	var free []*freeCores
	if level == NodeLocal {
		for _, p := range set.places {
			if p.host != nil && p.waiting > 0 {
				free = append(free, &p.host.free)
			}
		}
	} else {
		for _, g := range set.rackGroups {
			if g.waiting > 0 {
				free = append(free, &g.rack.free)
			}
		}
	}
	inTurn(free, func(f *freeCores) bool {
		for e := range f.atLeast(set.cpus) {
			if s.take(set, e, level) {
				return true
			}
		}
		return false
	})
}

// inTurn has each of the places take one task after the other, until none takes
// any more, so that tasks spread over them. It uses up the slice.
func inTurn[Place any](places []Place, take func(Place) bool) {
	for len(places) > 0 {
		places = slices.DeleteFunc(places, func(place Place) bool { return !take(place) })
	}
}

// waitsAt is whether the set has waiting tasks to which a level applies.
func (set *taskSet) waitsAt(level Locality) bool {
	if level == Any {
		return set.prefers()
	}
	return set.live[level] > 0
}

// take launches a task of a set on an executor if it has one that the level
// applies to.
func (s *Scheduler) take(set *taskSet, e *executor, level Locality) bool {
	if !set.waitsAt(level) {
		return false
	}
	index := int32(-1)
	switch level {
	case ProcessLocal:
		if p := set.executors[e.ID]; p != nil {
			index = p.take(set, e)
		}
	case NodeLocal:
		if p := set.hosts[e.host]; p != nil {
			index = p.take(set, e)
		}
	case RackLocal:
		if g := set.racks[e.host.rack]; g != nil {
			index = g.take(set, e)
		}
	case NoPref:
		index = set.noPref.take(set, e)
	case Any:
		index = set.anywhere.take(set, e)
	}
	if index < 0 {
		return false
	}
	s.launch(set, index, e, level)
	return true
}
