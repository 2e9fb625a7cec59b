package scheduler

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Speculation is when a task that takes long is run once more, elsewhere: the
// first of both attempts to succeed has the result, and the other is killed.
type Speculation struct {
	// Enabled is whether it is done at all.
	Enabled bool
	// Quantile is the part of a set's tasks that must be done first; 0.9 where it
	// is 0.
	Quantile float64
	// Multiplier is how many times the median of the successful attempts' times an
	// attempt may take; 3 where it is 0.
	Multiplier float64
	// MinTaskRuntime is what an attempt may take in any case; 100 ms where it is
	// 0.
	MinTaskRuntime time.Duration
	// DurationThreshold is what an attempt may take in a set with no more tasks
	// than one executor runs at once, where medians tell little. None where it is
	// 0.
	DurationThreshold time.Duration
}

func (x Speculation) withDefaults() Speculation {
	x.Quantile = cmp.Or(x.Quantile, 0.9)
	x.Multiplier = cmp.Or(x.Multiplier, 3)
	x.MinTaskRuntime = cmp.Or(x.MinTaskRuntime, 100*time.Millisecond)
	return x
}

// Straggler is an attempt that takes too long.
type Straggler struct {
	Attempt  AttemptID
	TaskSet  uint64
	Index    int
	Executor string
	// RunTime is how long it runs, Limit what it may.
	RunTime, Limit time.Duration
}

// stragglers are the attempts of a set that have to be copied.
type stragglers struct {
	// list are those that were found, in order, and some that ended since.
	list []straggler
	// wanted is how many of them wait for their copies.
	wanted int
}

// straggler is an attempt; it has another id, or none, once it has ended.
type straggler struct {
	id      AttemptID
	attempt *attempt
}

// CheckSpeculation looks for attempts that take too long at the time now, and
// has copies of them launched by the offers that follow: when nothing else of
// their set waits, and on another host where a large enough executor is on one,
// else on another executor. Copies wait for no locality. It costs as much as
// there are attempts that run, in sets of which enough tasks are done. Call it
// every some 100 ms.
func (s *Scheduler) CheckSpeculation(now time.Time) []Straggler {
	s.setNow(now)
	if !s.config.Speculation.Enabled {
		return nil
	}
	var found []Straggler
	for _, p := range s.profiles {
		for _, set := range p.sets {
			found = s.checkSet(found, set)
		}
	}
	slices.SortFunc(found, func(a, b Straggler) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return found
}

// runLimit is how long an attempt of a set may run; none as long as too few of
// its tasks are done.
func (s *Scheduler) runLimit(set *taskSet) (time.Duration, bool) {
	x := &s.config.Speculation
	tasks := len(set.states)
	switch {
	case set.barrier != nil || len(set.running) == 0:
		return 0, false
	case tasks > 1 && set.done >= max(int(math.Floor(x.Quantile*float64(tasks))), 1):
		limit := time.Duration(x.Multiplier * float64(set.durations.median()))
		return max(limit, x.MinTaskRuntime), true
	case x.DurationThreshold > 0 && tasks <= set.profile.sizes.mostSlots(set):
		return x.DurationThreshold, true
	default:
		return 0, false
	}
}

func (s *Scheduler) checkSet(found []Straggler, set *taskSet) []Straggler {
	limit, ok := s.runLimit(set)
	if !ok {
		return found
	}
	first := len(set.stragglers.list)
	for _, a := range set.running {
		ran := s.clock - a.since
		if a.state == attemptQueued || a.state == attemptResultPending || ran <= limit || a.twin != nil || a.straggles || set.states[a.index] != taskRunning {
			continue
		}
		a.straggles = true
		set.stragglers.wanted++
		set.stragglers.list = append(set.stragglers.list, straggler{a.id, a})
		found = append(found, Straggler{
			Attempt: a.id, TaskSet: set.id, Index: int(a.index), Executor: a.executor.ID, RunTime: ran, Limit: limit,
		})
	}
	if fresh := set.stragglers.list[first:]; len(fresh) > 0 {
		slices.SortFunc(fresh, func(a, b straggler) int { return cmp.Compare(a.id, b.id) })
		set.settled = false
		set.node.enqueue()
	}
	return found
}

// takeCopy launches the copy of a straggler on an executor, if there is one that
// may be there.
func (s *Scheduler) takeCopy(set *taskSet, e *executor) bool {
	list := set.stragglers.list
	for i, one := range list {
		a := one.attempt
		if a.id != one.id || !a.straggles || set.hasCopyElsewhere(a, e) || set.histories[a.index].excludes(e) {
			continue
		}
		if i == 0 {
			set.stragglers.list = list[1:]
		} else {
			set.stragglers.list = slices.Delete(list, i, i+1)
		}
		s.copy(a, e)
		return true
	}
	return false
}

// hasCopyElsewhere is whether the copy of an attempt must be on another
// executor than this: one on another host, as long as there is a large enough
// one.
func (set *taskSet) hasCopyElsewhere(a *attempt, e *executor) bool {
	if a.executor == e {
		return true
	}
	return a.executor.host == e.host && set.profile.sizes.fit(set) > e.host.sizes.fit(set)
}

// noCopy says of an attempt that it needs no copy any more.
func (a *attempt) noCopy() {
	if a.straggles {
		a.straggles = false
		set := a.set
		if set.stragglers.wanted--; set.stragglers.wanted == 0 {
			set.stragglers.list = nil
		}
	}
}

// mostSlots is how many tasks of a set the largest executor runs at once.
func (z sizes) mostSlots(set *taskSet) int {
	most := 0
	for _, size := range z {
		most = max(most, size.example.slots(set))
	}
	return most
}
