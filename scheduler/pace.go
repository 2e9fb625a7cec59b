package scheduler

import (
	"math"
	"time"
)

const (
	// leastPaceWeight and mostPaceWeight bound over how many outcomes the time that a
	// task takes is averaged, once there are so many: as many as a core runs in
	// Config.LaunchAhead. What holds a node up for a moment makes some tasks in a row
	// take long; of very short ones, that must not be what they are known by.
	leastPaceWeight = 64
	mostPaceWeight  = 1 << 10
	// priorWeight is how many outcomes count as much as what is known from an
	// earlier set of the same function.
	priorWeight = 16
	// mostOverPace is how many times that average a task counts for at the most: one
	// that lost its core to another process for a moment says little of the others.
	// Where one in forty or more takes long, the average still rises.
	mostOverPace = 64
	// giveBackPenalty is how many times Config.LaunchAhead a task that came back,
	// because it had to wait too long, is taken to last.
	giveBackPenalty = 4
)

// pace is about how long the tasks of a set take.
type pace struct {
	// nanos is that time in nanoseconds; 0 where nothing is known. It has a fraction, as
	// one of many outcomes may change it by less than a nanosecond.
	nanos float64
	// weight is how many outcomes it stands for.
	weight int
	// own is whether any of these was of this set.
	own bool
	// cameBack is when a task came back last.
	cameBack time.Duration
}

// mean is about how long a task takes; 0 where nothing is known.
func (p *pace) mean() time.Duration { return time.Duration(math.Ceil(p.nanos)) }

// add learns from a task that took so long, where ahead is Config.LaunchAhead.
func (p *pace) add(took, ahead time.Duration) {
	p.own = true
	nanos := float64(took)
	if p.nanos == 0 {
		p.nanos, p.weight = nanos, 1
		return
	}
	p.weight = min(p.weight+1, max(leastPaceWeight, min(int(float64(ahead)/p.nanos), mostPaceWeight)))
	p.nanos += (min(nanos, mostOverPace*p.nanos) - p.nanos) / float64(p.weight)
}

// notePace learns from an attempt that ended how long tasks of its set take. All
// that is long at an executor, or comes back from some, at the same time says one
// thing only: that they were held up.
func (s *Scheduler) notePace(a *attempt, outcome Outcome) {
	p, now := &a.set.pace, s.clock+1 // so that the zero time is before any
	ahead := s.config.LaunchAhead
	switch {
	case outcome.Result == Succeeded && outcome.Took > ahead:
		if a.executor.heldUp != now {
			a.executor.heldUp = now
			p.add(outcome.Took, ahead)
		}
	case outcome.Result == Succeeded && outcome.Took > 0:
		p.add(outcome.Took, ahead)
	case outcome.Result == Returned && !a.calledBack && p.cameBack != now:
		p.cameBack = now
		p.add(giveBackPenalty*ahead, ahead)
	}
}

// pastPace is what is known, when a set is submitted, of how long its tasks take:
// as long as those of the latest set that did the same, if they were short.
func (s *Scheduler) pastPace(function string) pace {
	if nanos := s.paces[function]; nanos > 0 {
		return pace{nanos: nanos, weight: priorWeight}
	}
	return pace{}
}

// rememberPace keeps the pace of a set that ends for those that come after it.
func (s *Scheduler) rememberPace(set *taskSet) {
	switch {
	case set.function == "" || !set.pace.own:
	case s.isShort(set):
		s.paces[set.function] = set.pace.nanos
	default:
		delete(s.paces, set.function)
	}
}

// isShort is whether tasks of a set are known to be so short that some may wait at
// an executor.
func (s *Scheduler) isShort(set *taskSet) bool {
	mean := set.pace.mean()
	return mean > 0 && mean <= s.config.LaunchAhead
}
