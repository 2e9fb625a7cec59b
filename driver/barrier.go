package driver

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// barrier is the state of a barrier set from the launch of its tasks, which the
// scheduler launches together, to their next launch.
type barrier struct {
	tasks    int
	attempts []scheduler.AttemptID // in the order of the tasks
	arrived  map[scheduler.AttemptID]struct{}
	passed   uint32 // barriers
	problem  string // why no further barrier can be passed
}

func newBarrier(tasks int) *barrier {
	return &barrier{tasks: tasks, arrived: map[scheduler.AttemptID]struct{}{}}
}

// launched adds an attempt. It reports whether all tasks have one now.
func (b *barrier) launched(id scheduler.AttemptID) bool {
	b.attempts = append(b.attempts, id)
	return b.complete()
}

func (b *barrier) complete() bool { return len(b.attempts) == b.tasks }

// arrive adds an attempt that waits at a barrier after it has passed so many. It
// returns the attempts to release: all if the last one arrived or there is a
// problem.
func (b *barrier) arrive(id scheduler.AttemptID, index int, passed uint32) []scheduler.AttemptID {
	if _, again := b.arrived[id]; again {
		return nil
	}
	if b.problem == "" && passed != b.passed {
		b.problem = fmt.Sprintf("task %d comes to barrier %d, the others to barrier %d", index, passed+1, b.passed+1)
	}
	b.arrived[id] = struct{}{}
	switch {
	case len(b.arrived) == b.tasks:
		b.passed++
	case b.problem == "":
		return nil
	}
	return b.release()
}

// succeeded records that a task has ended: it will arrive at no barrier, so that
// the others would wait for ever. It returns the attempts to release.
func (b *barrier) succeeded(index int) []scheduler.AttemptID {
	if b.problem == "" {
		b.problem = fmt.Sprintf("task %d has ended after %d barriers: all tasks of the set must come to the same barriers", index, b.passed)
	}
	return b.release()
}

func (b *barrier) release() []scheduler.AttemptID {
	released := slices.Sorted(maps.Keys(b.arrived))
	clear(b.arrived)
	return released
}

// launchedInBarrier records the launch of an attempt of a barrier set.
func (l *loop) launchedInBarrier(a *attempt) {
	set := a.set
	if set.barrier == nil || set.barrier.complete() {
		set.barrier = newBarrier(len(set.spec.Tasks))
	}
	if set.barrier.launched(a.id) {
		all := make([]*attempt, len(set.barrier.attempts))
		for i, id := range set.barrier.attempts {
			all[i] = l.attempts[id]
		}
		l.send.barrierPeers(set, all)
	}
}

// arriveAtBarrier handles the arrival of an attempt at a barrier.
func (l *loop) arriveAtBarrier(e *executor, arrival *wire.BarrierArrival) {
	a := e.attempt(arrival.GetAttempt())
	if a == nil || a.killed || a.set.ended || a.set.barrier == nil {
		return
	}
	l.releaseFromBarrier(a.set.barrier, a.set.barrier.arrive(a.id, a.index, arrival.GetPassed()))
}

func (l *loop) releaseFromBarrier(b *barrier, released []scheduler.AttemptID) {
	for _, id := range released {
		if a := l.attempts[id]; a != nil && !a.killed && a.isAtExecutor() {
			l.send.barrierRelease(a, b.problem)
		}
	}
}

// dropBarrier drops the results of a barrier set that ends.
func (l *loop) dropBarrier(set *runningSet) {
	if set.barrier == nil {
		return
	}
	for _, id := range set.barrier.attempts {
		if a := l.attempts[id]; a != nil && a.awaitsBarrierSet {
			delete(l.attempts, id)
		}
	}
	set.barrier = nil
}

// endUnschedulable ends barrier sets that do not fit on the executors of this
// process.
func (l *loop) endUnschedulable() {
	if !l.isLocal() {
		return
	}
	for _, set := range l.sets {
		if problem := l.barrierTooLarge(set); problem != "" {
			l.endSet(set, set.unschedulable(problem))
		}
	}
}

// barrierTooLarge says why the tasks of a barrier set can never run at once; ""
// if they can, or may once more executors have registered.
func (l *loop) barrierTooLarge(set *runningSet) string {
	slots, executors := 0, 0
	switch {
	case !set.spec.Barrier:
		return ""
	case l.isLocal():
		for _, e := range l.executors {
			executors++
			slots += e.cores / set.cpus
		}
	case set.profile.pool != nil:
		executors = config.MaxExecutors(l.d.options.Config)
		slots = executors * set.slots
	default:
		executors = set.profile.total()
		slots = executors * set.slots
	}
	if executors == 0 || slots >= len(set.spec.Tasks) {
		return ""
	}
	return fmt.Sprintf("its %d tasks must run at once, and there is room for %d on as many executors as there may be (%d): allow more executors, or run fewer tasks",
		len(set.spec.Tasks), slots, executors)
}
