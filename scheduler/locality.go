package scheduler

import "time"

// Locality is how close an attempt runs to an executor or host that its task
// prefers.
type Locality int8

// The levels of locality, the best first.
const (
	// ProcessLocal is on an executor that the task prefers.
	ProcessLocal Locality = iota
	// NodeLocal is on a host that the task prefers.
	NodeLocal
	// NoPref is the level of tasks without preferences.
	NoPref
	// RackLocal is in the rack of a host that the task prefers.
	RackLocal
	// Any is anywhere else.
	Any
)

// Localities is the number of levels.
const Localities = int(Any) + 1

// String returns the level's name, such as "node-local".
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

// delays implements delay scheduling: it decides which levels of locality are open
// to a task set, so that the set takes cores at these levels.
type delays struct {
	clock *clock
	waits [Localities]time.Duration
	// expecting is set while further executors are expected.
	expecting bool
	// running is how many task sets have a running delay clock.
	running int
}

// delayClock measures how long a set has left cores unused while it waits for more
// local cores. It starts when the set does not take a core that is free, stops when
// the set takes all cores that it is offered, and is never reset.
type delayClock struct {
	running bool
	// since is when the clock was last started or stopped. before is how long it had
	// run until then.
	since  time.Time
	before time.Duration
}

func (d *delayClock) elapsed(now time.Time) time.Duration {
	if d.running {
		return d.before + now.Sub(d.since)
	}
	return d.before
}

// setRunning starts or stops the delay clock of a set.
func (d *delays) setRunning(set *taskSet, running bool) {
	c := &set.delay
	if running == c.running {
		return
	}
	*c = delayClock{running: running, since: d.clock.now, before: c.elapsed(d.clock.now)}
	if running {
		d.running++
	} else {
		d.running--
	}
}

// allowed returns the least local level that is open to a set. A level opens when
// the set's delay clock has run for the waits of all more local levels that
// are live (see backlog.live; NodeLocal also counts as live while executors are
// expected). It also returns how much longer the clock must run
// until the next level opens; 0 if all levels are open.
func (d *delays) allowed(set *taskSet) (Locality, time.Duration) {
	elapsed := set.delay.elapsed(d.clock.now)
	for _, level := range [...]Locality{ProcessLocal, NodeLocal, RackLocal} {
		if set.live[level] == 0 && !(level == NodeLocal && d.expecting && set.prefers()) {
			continue
		}
		if elapsed -= d.waits[level]; elapsed < 0 {
			return level, -elapsed
		}
	}
	return Any, 0
}

// ExpectExecutors sets whether further executors are expected. While they are, a
// task that prefers a host waits for Config.LocalityWaitNode even if no executor
// runs there. Otherwise, when several executors start together, the first one would
// take the tasks that are local to the others. Call Offer afterwards.
func (s *Scheduler) ExpectExecutors(expected bool) { s.delays.expecting = expected }

// nextLevel returns how long it takes until the next level of locality opens to any
// set that leaves cores unused; 0 if there is none.
func (s *Scheduler) nextLevel() (wait time.Duration) {
	if s.delays.running == 0 {
		return 0
	}
	for _, p := range s.profiles {
		for _, set := range p.sets {
			if !set.delay.running || p.free.most < set.cpus {
				continue
			}
			if _, left := s.delays.allowed(set); left > 0 && (wait == 0 || left < wait) {
				wait = left
			}
		}
	}
	return wait
}
