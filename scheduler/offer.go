package scheduler

// Launch is an attempt that the owner of the scheduler is to launch.
type Launch struct {
	Attempt     AttemptID
	TaskSet     uint64
	Index       int    // index of the task in its set
	Number      int    // number of earlier attempts of the task, without recalled ones
	Executor    string // id of the executor that must run the attempt
	Locality    Locality
	Speculative bool // the attempt is a copy of another running attempt
	// Queued is true if the attempt waits in its executor's queue until a core is free; see
	// [Scheduler.SetWindow]. The executor may return it as [ResultRecalled].
	Queued bool
	// Resources are the addresses of resources, such as GPUs, that the attempt may use, by
	// resource name; nil if the task set requests none.
	Resources map[string][]string
}

// offer launches tasks on the profile's free cores. If windows is true, it also queues tasks at
// executors with a window.
func (p *profile) offer(windows bool) {
	p.coresReserved = false
	p.offerReserved()
	for p.free.maxFree > 0 && !p.coresReserved {
		leaf, limit := p.pools.Next()
		if leaf == nil {
			break
		}
		if p.offerSet(leaf.Leaf, limit) < limit {
			leaf.Skip()
		}
	}
	for i, set := range p.offeredSets {
		if set.offer.launched && !set.offer.finished {
			p.delays.setRunning(set, false) // the set uses all cores that it was offered
		}
		set.offer.reset()
		p.offeredSets[i] = nil
	}
	p.offeredSets = p.offeredSets[:0]
	p.pools.EndOffer()
	if p.coresReserved {
		for _, set := range p.sets {
			set.exhausted = false // the set may not have been offered all free cores
		}
	}
	if windows {
		p.fillWindows()
	}
	p.clearNewlyFree()
}

// offerSet launches at most limit tasks of a set on free cores, and returns how many it
// launched. For a barrier set, it launches all tasks or none.
func (p *profile) offerSet(set *taskSet, limit int) (launched int) {
	switch {
	case p.free.maxFree < set.cpus:
		return 0
	case set.barrier != nil:
		return p.offerBarrier(set)
	}
	r := &set.offer
	if r.finished {
		return 0
	}
	if !r.begun {
		p.offeredSets = append(p.offeredSets, set)
		p.beginOffer(set)
	}
	for launched < limit && p.free.maxFree >= set.cpus && p.launchNext(set) {
		launched++
	}
	r.launched = r.launched || launched > 0
	if launched == limit {
		return launched
	}
	r.finished = true
	switch {
	case p.free.maxFree < set.cpus:
		set.exhausted, set.exhaustedAt = true, Any
	case !r.onlyNewlyFree:
		set.exhaustedAt, _ = p.delays.openLevel(set)
		set.exhausted = true
	}
	// A set that leaves a core unused waits for a more local core, so its delay clock runs.
	p.delays.setRunning(set, set.waiting > 0 && p.free.maxFree >= set.cpus)
	return launched
}

// offerProgress is the state of a set during one offer. In a FAIR pool, sets take turns
// to launch one task each, and continue where they stopped.
type offerProgress struct {
	begun, launched bool
	finished        bool // the set launches no more tasks in this offer
	// atNewlyFree is true while candidates contains the newly free executors. After that, the
	// set tries one level of locality after the other. listed is true while candidates contains
	// the candidates for level.
	atNewlyFree   bool
	level         Locality
	listed        bool
	onlyNewlyFree bool // only newly free executors were tried
	candidates    candidates
}

// candidates are executors, hosts or racks on which a set may launch tasks. To spread the tasks,
// the set launches one task on each in turn. A candidate is removed when no task can be launched
// on it.
type candidates struct {
	list []candidate
	// current is the index of the candidate to try next. In this round, a task was launched on
	// each candidate in list[:keptCount], which stay for the next round.
	current, keptCount int
}

// candidate is an executor or, if free is set, the executors of a host or a rack.
type candidate struct {
	executor *executor
	free     *freeCores
}

// maxKeptCandidates is the largest capacity of a candidates list that is kept for the next offer.
const maxKeptCandidates = 64

func (r *offerProgress) reset() {
	list := r.candidates.list[:0]
	clear(list[:cap(list)])
	if cap(list) > maxKeptCandidates {
		list = nil
	}
	*r = offerProgress{candidates: candidates{list: list}}
}

// next calls the function launch for one candidate after the other, until a call returns true.
// It returns false if no call did.
func (c *candidates) next(launch func(candidate) bool) bool {
	for len(c.list) > 0 {
		if c.current == len(c.list) {
			clear(c.list[c.keptCount:])
			c.list, c.current, c.keptCount = c.list[:c.keptCount], 0, 0
			continue
		}
		next := c.list[c.current]
		c.current++
		if launch(next) {
			c.list[c.keptCount] = next
			c.keptCount++
			return true
		}
	}
	return false
}

// beginOffer prepares a set for an offer. If the set is exhausted (see taskSet), it can launch
// tasks only on newly free executors, or at a level of locality that has opened since it became
// exhausted.
func (p *profile) beginOffer(set *taskSet) {
	r := &set.offer
	r.begun = true
	level, _ := p.delays.openLevel(set)
	set.exhaustedAt = min(set.exhaustedAt, level)
	if r.atNewlyFree = set.exhausted && level == set.exhaustedAt; r.atNewlyFree {
		for _, e := range p.newlyFree {
			r.candidates.list = append(r.candidates.list, candidate{executor: e})
		}
	}
}

// launchNext launches one task of a set, and reports whether it could.
func (p *profile) launchNext(set *taskSet) bool {
	r := &set.offer
	if r.atNewlyFree {
		if r.candidates.next(func(c candidate) bool {
			return c.executor.isFree(set) && p.launchBest(set, c.executor, speculativeLevel, false)
		}) {
			return true
		}
		// The calls of launchBest may have launched the last waiting task that prefers some
		// location. Then the level of that location may no longer be live, which opens the
		// next level.
		r.atNewlyFree = false
		if level, _ := p.delays.openLevel(set); level <= set.exhaustedAt {
			r.level, r.onlyNewlyFree = speculativeLevel+1, true
		}
	}
	for ; r.level <= speculativeLevel; r.level, r.listed = r.level+1, false {
		if !set.waitsAt(r.level) {
			continue
		}
		if level, _ := p.delays.openLevel(set); r.level > level && r.level != NoPref && r.level != speculativeLevel {
			continue
		}
		if p.launchAtLevel(set, r.level) {
			return true
		}
	}
	return false
}

// launchAtLevel launches one task of a set at a level of locality, and reports whether it could.
func (p *profile) launchAtLevel(set *taskSet, level Locality) bool {
	if level >= NoPref && level != RackLocal && !set.needsExecutorChecks() {
		return p.launchOnFirst(set, &p.free, level)
	}
	r := &set.offer
	if !r.listed {
		r.listed = true
		r.candidates = candidates{list: p.candidatesAt(set, level, r.candidates.list[:0])}
	}
	return r.candidates.next(func(c candidate) bool {
		if c.executor != nil {
			return c.executor.isFree(set) && p.launchOne(set, c.executor, level, false)
		}
		return p.launchOnFirst(set, c.free, level)
	})
}

// launchOnFirst tries the executors in the list free, those with the most free cores first. It
// launches a task of a set on the first executor that may run one, and reports whether there was
// such an executor.
func (p *profile) launchOnFirst(set *taskSet, free *freeCores, level Locality) bool {
	for e := range free.atLeast(set.cpus) {
		if p.launchOne(set, e, level, false) {
			return true
		}
	}
	return false
}

// needsExecutorChecks reports whether a task of the set may be unable to run on an executor that
// has enough free cores.
func (set *taskSet) needsExecutorChecks() bool {
	return len(set.histories) > 0 || len(set.requests) > 0 || set.exclusion.Any() || set.speculativeCopies.neededCount > 0
}

// candidatesAt appends the candidates for launching tasks at a level of locality: the preferred
// locations with waiting tasks or, if these are not fewer than the executors with free cores,
// all executors with enough free cores.
func (p *profile) candidatesAt(set *taskSet, level Locality, list []candidate) []candidate {
	locations := 0 // 0 if any executor is a candidate
	switch level {
	case ProcessLocal, NodeLocal:
		locations = len(set.locations)
	case RackLocal:
		locations = len(set.rackGroups)
	}
	if locations == 0 || locations >= p.free.executors {
		for e := range p.free.atLeast(set.cpus) {
			list = append(list, candidate{executor: e})
		}
		return list
	}
	switch level {
	case ProcessLocal:
		for _, location := range set.locations {
			if location.executor != nil && location.waiting > 0 {
				list = append(list, candidate{executor: location.executor})
			}
		}
	case NodeLocal:
		for _, location := range set.locations {
			if location.host != nil && location.waiting > 0 {
				list = append(list, candidate{free: &location.host.free})
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

// isFree reports whether an available executor has enough free cores for a task of a set.
func (e *executor) isFree(set *taskSet) bool { return e.available && e.free >= set.cpus }

// launchBest launches the most local waiting task of a set on an executor. If queued is true,
// the task is queued there. It tries the open levels of locality from ProcessLocal to last, and
// reports whether it found a task.
func (p *profile) launchBest(set *taskSet, e *executor, last Locality, queued bool) bool {
	level, _ := p.delays.openLevel(set)
	for l := ProcessLocal; l <= last; l++ {
		if (l <= level || l == NoPref || l == speculativeLevel) && p.launchOne(set, e, l, queued) {
			return true
		}
	}
	return false
}

// waitsAt reports whether the set has a waiting task for a level or, for speculativeLevel, a
// speculative copy to launch.
func (set *taskSet) waitsAt(level Locality) bool {
	switch level {
	case Any:
		return set.hasPreferences()
	case speculativeLevel:
		return set.speculativeCopies.neededCount > 0
	default:
		return set.availableCounts[level] > 0
	}
}

// launchOne launches a task of a set on an executor at a level of locality. If queued is true,
// the task is queued there. It reports whether the set has a task that the executor may run.
func (p *profile) launchOne(set *taskSet, e *executor, level Locality, queued bool) bool {
	if !set.waitsAt(level) || len(set.requests) > 0 && !e.resources.Has(set.requests) || set.exclusion.Any() && set.excludes(e) {
		return false
	}
	if level == speculativeLevel {
		return p.launchSpeculativeCopy(set, e)
	}
	index := set.pop(e, level)
	if index < 0 {
		return false
	}
	p.attempts.launch(set, index, e, level, queued)
	return true
}
