package scheduler

// copies is the level at which sets launch copies of stragglers: after all that
// waits, at any place.
const copies = Any + 1

// turn is how far a set is in taking what an offer has for it. In a FAIR pool
// sets take one task at a time, so it goes on where it was left.
type turn struct {
	begun, took bool
	// over is whether the set takes nothing any more.
	over bool
	// freed is whether it is at the executors that were freed since the last
	// offer; else it is at a level, of which it has been to the candidates if
	// listed.
	freed  bool
	level  Locality
	listed bool
	// settled is whether the executors that were freed were all that it had to look
	// at.
	settled bool
	places  places
}

// candidate is an executor, or a place whose executors it is about.
type candidate struct {
	executor *executor
	free     *freeCores
}

// places take one task each in turn, so that tasks spread over them; those that
// take none are left out from then on.
type places struct {
	list     []candidate
	at, kept int
}

// keptCandidates is how much room for candidates a set keeps between offers.
const keptCandidates = 64

func (t *turn) end() {
	list := t.places.list[:0]
	clear(list[:cap(list)])
	if cap(list) > keptCandidates {
		list = nil
	}
	*t = turn{places: places{list: list}}
}

// next has the next of the places take a task, and is false when none does.
func (p *places) next(take func(candidate) bool) bool {
	for len(p.list) > 0 {
		if p.at == len(p.list) {
			clear(p.list[p.kept:])
			p.list, p.at, p.kept = p.list[:p.kept], 0, 0
			continue
		}
		place := p.list[p.at]
		p.at++
		if take(place) {
			p.list[p.kept] = place
			p.kept++
			return true
		}
	}
	return false
}

// offerSet has a set take so many tasks at the most. Between offers a set that
// has had its fill can only find more on executors that were freed since, or at
// a level that has opened since: the others needn't be looked at.
func (s *Scheduler) offerSet(set *taskSet, most int) (took int) {
	t := &set.turn
	if t.over {
		return 0
	}
	if !t.begun {
		t.begun = true
		level, _ := s.allowed(set)
		set.settledAt = min(set.settledAt, level)
		if t.freed = set.settled && level == set.settledAt; t.freed {
			for _, e := range set.profile.freed {
				t.places.list = append(t.places.list, candidate{executor: e})
			}
		}
	}
	free := &set.profile.free
	for took < most && free.top >= set.cpus && s.step(set) {
		took++
	}
	t.took = t.took || took > 0
	if took == most {
		return took
	}
	t.over = true
	switch {
	case free.top < set.cpus:
		set.settled, set.settledAt = true, Any // nothing is left at all
	case !t.settled:
		set.settledAt, _ = s.allowed(set)
		set.settled = true
	}
	// What it leaves, it leaves for want of a better place.
	s.setDelayed(set, set.waiting > 0 && free.top >= set.cpus)
	return took
}

// step launches one task of a set, if it takes anything more.
func (s *Scheduler) step(set *taskSet) bool {
	t := &set.turn
	if t.freed {
		if t.places.next(func(c candidate) bool { return s.offerOne(set, c.executor, copies) }) {
			return true
		}
		// The last task of a place may have gone, and its level with it.
		t.freed = false
		if level, _ := s.allowed(set); level <= set.settledAt {
			t.level, t.settled = copies+1, true
		}
	}
	for ; t.level <= copies; t.level, t.listed = t.level+1, false {
		if !set.waitsAt(t.level) {
			continue
		}
		if level, _ := s.allowed(set); t.level > level && t.level != NoPref && t.level != copies {
			continue
		}
		if s.stepAt(set, t.level) {
			return true
		}
	}
	return false
}

// stepAt launches one task of a set at a level.
func (s *Scheduler) stepAt(set *taskSet, level Locality) bool {
	t := &set.turn
	free := &set.profile.free
	if level >= NoPref && level != RackLocal && !set.isChoosy() {
		// The first executor takes it.
		for e := range free.atLeast(set.cpus) {
			if s.take(set, e, level, false) {
				return true
			}
		}
		return false
	}
	if !t.listed {
		t.listed = true
		t.places = places{list: set.list(t.places.list[:0], level)}
	}
	return t.places.next(func(c candidate) bool {
		if c.executor != nil {
			return c.executor.isFree(set) && s.take(set, c.executor, level, false)
		}
		for e := range c.free.atLeast(set.cpus) {
			if s.take(set, e, level, false) {
				return true
			}
		}
		return false
	})
}

// isChoosy is whether an executor with free cores may be wrong for the set, or
// for some of its tasks.
func (set *taskSet) isChoosy() bool {
	return len(set.histories) > 0 || len(set.requests) > 0 || set.excluded != nil || set.stragglers.wanted > 0
}

// list appends the candidates for tasks at a level: the places that the level
// has, or all executors with free cores where those are fewer.
func (set *taskSet) list(list []candidate, level Locality) []candidate {
	free := &set.profile.free
	if count := set.placesAt(level); count == 0 || count >= free.executors {
		for e := range free.atLeast(set.cpus) {
			list = append(list, candidate{executor: e})
		}
		return list
	}
	switch level {
	case ProcessLocal:
		for _, p := range set.places {
			if p.executor != nil && p.waiting > 0 {
				list = append(list, candidate{executor: p.executor})
			}
		}
	case NodeLocal:
		for _, p := range set.places {
			if p.host != nil && p.waiting > 0 {
				list = append(list, candidate{free: &p.host.free})
			}
		}
	default:
		for _, g := range set.rackGroups {
			if g.waiting > 0 {
				list = append(list, candidate{free: &g.rack.free})
			}
		}
	}
	return list
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

// isFree is whether an executor has cores for a task of a set.
func (e *executor) isFree(set *taskSet) bool { return e.available && e.free >= set.cpus }

// offerOne has a set take the best task that it has for an executor, at no level
// after the last.
func (s *Scheduler) offerOne(set *taskSet, e *executor, last Locality) bool {
	return e.isFree(set) && s.takeBest(set, e, last, false)
}

// takeBest launches the best task that a set has for an executor, at no level
// after the last, or queues it there.
func (s *Scheduler) takeBest(set *taskSet, e *executor, last Locality, queued bool) bool {
	level, _ := s.allowed(set)
	for l := ProcessLocal; l <= last; l++ {
		if (l <= level || l == NoPref || l == copies) && s.take(set, e, l, queued) {
			return true
		}
	}
	return false
}

// waitsAt is whether the set has anything to which a level applies.
func (set *taskSet) waitsAt(level Locality) bool {
	switch level {
	case Any:
		return set.prefers()
	case copies:
		return set.stragglers.wanted > 0
	default:
		return set.live[level] > 0
	}
}

// take launches a task of a set on an executor, or queues it there, if it has one
// that the level applies to.
func (s *Scheduler) take(set *taskSet, e *executor, level Locality, queued bool) bool {
	if !set.waitsAt(level) || !e.has(set.requests) || set.excluded.excludes(e) {
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
	case copies:
		return s.takeCopy(set, e)
	}
	if index < 0 {
		return false
	}
	s.launch(set, index, e, level, queued)
	return true
}
