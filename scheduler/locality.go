package scheduler

import "time"

// Locality is how close to the place that it prefers a task runs.
type Locality int8

// The levels of locality, the best first.
const (
	// ProcessLocal: in an executor that the task prefers.
	ProcessLocal Locality = iota
	// NodeLocal: on a host that the task prefers.
	NodeLocal
	// NoPref: the task prefers no place.
	NoPref
	// RackLocal: in the rack of a host that the task prefers.
	RackLocal
	// Any: anywhere else.
	Any
)

// Localities is how many levels there are.
const Localities = int(Any) + 1

// String is the level's name as in "node-local".
func (l Locality) String() string {
	switch l {
	case ProcessLocal:
		return "process-local"
	case NodeLocal:
		return "node-local"
	case NoPref:
		return "no-pref"
	case RackLocal:
		return "rack-local"
	default:
		return "any"
	}
}

// delay is a set's clock of delay scheduling. It starts when the set leaves a
// core that it could have taken, and stops when it takes all that it is offered.
type delay struct {
	// waited is how long it ran before.
	waited  time.Duration
	running bool
	// since is when it was started, if it runs.
	since time.Time
}

func (d *delay) elapsed(now time.Time) time.Duration {
	if d.running {
		return d.waited + now.Sub(d.since)
	}
	return d.waited
}

// setDelayed starts or stops a set's clock.
func (s *Scheduler) setDelayed(set *taskSet, delayed bool) {
	if delayed == set.delay.running {
		return
	}
	set.delay.waited = set.delay.elapsed(s.now)
	set.delay.running, set.delay.since = delayed, s.now
	if delayed {
		s.delayed++
	} else {
		s.delayed--
	}
}

// allowed is the least local level that is open to a set: each live level
// before it had its wait. It also returns how long the set's clock has yet to
// run for the next level to open; 0 where none is left.
func (s *Scheduler) allowed(set *taskSet) (Locality, time.Duration) {
	elapsed := set.delay.elapsed(s.now)
	for _, level := range [...]Locality{ProcessLocal, NodeLocal, RackLocal} {
		if set.live[level] == 0 && !(level == NodeLocal && s.expecting && set.prefers()) {
			continue
		}
		if elapsed -= s.waits[level]; elapsed < 0 {
			return level, -elapsed
		}
	}
	return Any, 0
}

// prefers is whether a waiting task of the set prefers any place.
func (set *taskSet) prefers() bool { return set.waiting > set.live[NoPref] }

// ExpectExecutors says whether further executors are on their way. While they
// are, a task that prefers a host without an executor waits for one as it would
// for a core of an executor that is there: else the first of several executors
// that start together would take what is local to the others. Offer follows.
func (s *Scheduler) ExpectExecutors(awaited bool) { s.expecting = awaited }

// NextDeadline is the earliest time, if there is one, at which the passing of
// time alone changes something: a level of locality opens to a set that leaves
// cores unused until then, an exclusion ends, or a set is given up. Call Advance
// and Offer then.
func (s *Scheduler) NextDeadline() (time.Time, bool) {
	var opens time.Duration
	if s.delayed > 0 {
		for _, p := range s.profiles {
			for _, set := range p.sets {
				if !set.delay.running || p.free.top < set.cpus {
					continue
				}
				if _, left := s.allowed(set); left > 0 && (opens == 0 || left < opens) {
					opens = left
				}
			}
		}
	}
	next := earlier(s.excluded.next(), s.nextStuck())
	if opens > 0 {
		next = earlier(next, s.now.Add(opens))
	}
	return next, !next.IsZero()
}
