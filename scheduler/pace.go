package scheduler

import "time"

const (
	// paceWeight is over how many outcomes the time that a task takes is averaged,
	// once there are so many.
	paceWeight = 64
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
	// mean is 0 where nothing is known.
	mean time.Duration
	// weight is how many outcomes the mean stands for.
	weight int
	// own is whether any of these was of this set.
	own bool
	// cameBack is when a task came back last.
	cameBack time.Duration
}

// add learns from a task that took so long.
func (p *pace) add(took time.Duration) {
	p.own = true
	p.weight = min(p.weight+1, paceWeight)
	if p.mean == 0 {
		p.mean = took
		return
	}
	took = min(took, mostOverPace*p.mean)
	p.mean = max(p.mean+(took-p.mean)/time.Duration(p.weight), time.Nanosecond)
}

// notePace learns from an attempt that ended how long tasks of its set take. All
// that is long at an executor, or comes back from some, at the same time says one
// thing only: that they were held up.
func (s *Scheduler) notePace(a *attempt, outcome Outcome) {
	p, now := &a.set.pace, s.clock+1 // so that the zero time is before any
	switch {
	case outcome.Result == Succeeded && outcome.Took > s.config.LaunchAhead:
		if a.executor.heldUp != now {
			a.executor.heldUp = now
			p.add(outcome.Took)
		}
	case outcome.Result == Succeeded && outcome.Took > 0:
		p.add(outcome.Took)
	case outcome.Result == Returned && !a.calledBack && p.cameBack != now:
		p.cameBack = now
		p.add(giveBackPenalty * s.config.LaunchAhead)
	}
}

// pastPace is what is known, when a set is submitted, of how long its tasks take:
// as long as those of the latest set that did the same, if they were short.
func (s *Scheduler) pastPace(function string) pace {
	if mean := s.paces[function]; mean > 0 {
		return pace{mean: mean, weight: priorWeight}
	}
	return pace{}
}

// rememberPace keeps the pace of a set that ends for those that come after it.
func (s *Scheduler) rememberPace(set *taskSet) {
	switch {
	case set.function == "" || !set.pace.own:
	case s.isShort(set):
		s.paces[set.function] = set.pace.mean
	default:
		delete(s.paces, set.function)
	}
}

// isShort is whether tasks of a set are known to be so short that some may wait at
// an executor.
func (s *Scheduler) isShort(set *taskSet) bool {
	return set.pace.mean > 0 && set.pace.mean <= s.config.LaunchAhead
}
