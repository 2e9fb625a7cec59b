package scheduler

import "time"

// Locality is how close the executor of an attempt is to a location that the task prefers.
type Locality int8

// The levels of locality, the best first.
const (
	ProcessLocal Locality = iota // on an executor that the task prefers
	NodeLocal                    // on a host that the task prefers
	NoPref                       // on any executor, for a task without preferences
	RackLocal                    // in the rack of a host that the task prefers
	Any                          // on any other executor
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

// localityDelays implements delay scheduling: it determines which levels of locality are open to
// a task set.
type localityDelays struct {
	clock            *clock
	waitByLevel      [Localities]time.Duration
	expectsExecutors bool // more executors are expected to register soon
	runningClocks    int  // number of task sets with a running delay clock
}

// delayClock measures how long a set has left free cores unused while it waits for more local
// cores. It starts when the set does not use a core that is free, stops when the set uses all
// cores that it is offered, and is never reset.
type delayClock struct {
	running bool
	// since is when the clock last started or stopped. elapsedBefore is how long the clock had
	// run in total at that time.
	since         time.Time
	elapsedBefore time.Duration
}

func (d *delayClock) elapsed(now time.Time) time.Duration {
	if d.running {
		return d.elapsedBefore + now.Sub(d.since)
	}
	return d.elapsedBefore
}

// setRunning starts or stops the delay clock of a set.
func (d *localityDelays) setRunning(set *taskSet, running bool) {
	c := &set.delayClock
	if running == c.running {
		return
	}
	*c = delayClock{running: running, since: d.clock.now, elapsedBefore: c.elapsed(d.clock.now)}
	if running {
		d.runningClocks++
	} else {
		d.runningClocks--
	}
}

// openLevel returns the least local level that is open to a set, and how much longer the set's
// delay clock must run until the next level opens; 0 if all are open. A level opens when the
// clock has run for the waits of all more local levels that are live. A level is live if its
// backlog.availableCounts is not 0; NodeLocal is also live while executors are expected.
func (d *localityDelays) openLevel(set *taskSet) (Locality, time.Duration) {
	elapsed := set.delayClock.elapsed(d.clock.now)
	for _, level := range [...]Locality{ProcessLocal, NodeLocal, RackLocal} {
		if set.availableCounts[level] == 0 && !(level == NodeLocal && d.expectsExecutors && set.hasPreferences()) {
			continue
		}
		if elapsed -= d.waitByLevel[level]; elapsed < 0 {
			return level, -elapsed
		}
	}
	return Any, 0
}

// ExpectExecutors sets whether more executors are expected to register soon. While they are, a
// task that prefers a host waits for Config.LocalityWaitNode even if no executor runs on that
// host. Without this wait, the first executor of several that start together would get the tasks
// that prefer the hosts of the later ones. Call Offer afterwards.
func (s *Scheduler) ExpectExecutors(expected bool) { s.delays.expectsExecutors = expected }

// nextLevel returns how long it takes until the next level of locality opens to any set that
// leaves cores unused; 0 if there is no such level.
func (s *Scheduler) nextLevel() (wait time.Duration) {
	if s.delays.runningClocks == 0 {
		return 0
	}
	for _, p := range s.profiles {
		for _, set := range p.sets {
			if !set.delayClock.running || p.free.maxFree < set.cpus {
				continue
			}
			if _, left := s.delays.openLevel(set); left > 0 && (wait == 0 || left < wait) {
				wait = left
			}
		}
	}
	return wait
}
