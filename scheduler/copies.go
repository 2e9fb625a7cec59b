package scheduler

import (
	"cmp"
	"slices"
	"time"
)

// speculativeLevel follows all levels of locality. At this level, a set that has no waiting task
// to launch launches speculative copies of slow attempts, on any executor.
const speculativeLevel = Any + 1

// Straggler is an attempt that has run for so long that a speculative copy of it is to be
// launched.
type Straggler struct {
	Attempt  AttemptID
	TaskSet  uint64
	Index    int
	Executor string
	// RunTime is how long the attempt has run. Limit is the run time after which it is copied.
	RunTime, Limit time.Duration
}

// speculativeCopies lists the attempts of a set of which speculative copies are to be launched.
type speculativeCopies struct {
	// list contains the attempts to copy, in the order in which they were found. Some may have
	// ended.
	list        []*attempt
	neededCount int // number of attempts in list that still need a copy
}

// CheckSpeculation finds and returns attempts that have run for too long at the time now. Later
// offers launch speculative copies of them, when no task of their set waits. A copy runs on
// another host if another host has a large enough executor, else on another executor of the same
// host. Copies ignore locality. The cost of a call grows with the number of running attempts in
// sets for which [speculation.Rules.Limit] returns a limit. Call it about every 100 ms.
func (s *Scheduler) CheckSpeculation(now time.Time) []Straggler {
	s.clock.advance(now)
	rules := &s.config.Speculation
	if !rules.Enabled {
		return nil
	}
	var stragglers []Straggler
	for _, p := range s.profiles {
		for _, set := range p.sets {
			if set.barrier != nil || len(set.running) == 0 {
				continue
			}
			_, slots := p.sizes.slots(set)
			if limit, ok := rules.Limit(len(set.states), set.done, slots, &set.durations); ok {
				stragglers = append(stragglers, set.findStragglers(s.clock.elapsed, limit)...)
			}
		}
	}
	slices.SortFunc(stragglers, func(a, b Straggler) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return stragglers
}

// findStragglers marks and returns attempts that have run for longer than limit.
func (set *taskSet) findStragglers(now, limit time.Duration) []Straggler {
	var stragglers []Straggler
	first := len(set.speculativeCopies.list)
	for _, a := range set.running {
		ran := now - a.stateSince
		if a.state == attemptQueued || a.state == attemptResultPending || ran <= limit || a.otherAttempt != nil || a.needsSpeculativeCopy || set.states[a.index] != taskRunning {
			continue
		}
		a.needsSpeculativeCopy = true
		set.speculativeCopies.neededCount++
		set.speculativeCopies.list = append(set.speculativeCopies.list, a)
		stragglers = append(stragglers, Straggler{
			Attempt: a.id, TaskSet: set.id, Index: int(a.index), Executor: a.executor.ID, RunTime: ran, Limit: limit,
		})
	}
	if len(stragglers) > 0 {
		slices.SortFunc(set.speculativeCopies.list[first:], func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
		set.exhausted = false
		set.node.Enqueue()
	}
	return stragglers
}

// launchSpeculativeCopy launches the first listed copy that may run on an executor, and reports
// whether there was one.
func (p *profile) launchSpeculativeCopy(set *taskSet, e *executor) bool {
	list := set.speculativeCopies.list
	for i, a := range list {
		if !a.needsSpeculativeCopy || set.copyMustAvoid(a, e) || set.histories[a.index].excludes(e) {
			continue
		}
		if i == 0 {
			set.speculativeCopies.list = list[1:]
		} else {
			set.speculativeCopies.list = slices.Delete(list, i, i+1)
		}
		p.attempts.launchSpeculativeCopy(a, e)
		return true
	}
	return false
}

// copyMustAvoid reports whether a speculative copy of an attempt must not run on an executor:
// the attempt's own executor or, if another host has a large enough executor, any executor on
// the attempt's host.
func (set *taskSet) copyMustAvoid(a *attempt, e *executor) bool {
	if a.executor == e {
		return true
	}
	return a.executor.host == e.host && set.profile.sizes.largeEnough(set) > e.host.sizes.largeEnough(set)
}

// cancelSpeculativeCopy cancels the launch of a speculative copy of an attempt, if one is to be
// launched.
func (a *attempt) cancelSpeculativeCopy() {
	if a.needsSpeculativeCopy {
		a.needsSpeculativeCopy = false
		copies := &a.set.speculativeCopies
		if copies.neededCount--; copies.neededCount == 0 {
			copies.list = nil
		}
	}
}
