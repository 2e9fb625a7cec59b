package driver

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// barrier is the state of a barrier set since its latest launch. The tasks of a barrier set run
// at the same time. If one fails, the scheduler launches all of them again.
type barrier struct {
	tasks          int
	attempts       []scheduler.AttemptID // attempts launched so far, by task index
	arrived        map[scheduler.AttemptID]struct{}
	barriersPassed uint32 // number of barriers that all tasks have passed
	brokenReason   string // why no further barrier can be passed; "" if further barriers can be passed
}

func newBarrier(tasks int) *barrier {
	return &barrier{tasks: tasks, arrived: map[scheduler.AttemptID]struct{}{}}
}

// launched adds a launched attempt, and reports whether all tasks have been launched.
func (b *barrier) launched(id scheduler.AttemptID) bool {
	b.attempts = append(b.attempts, id)
	return b.allLaunched()
}

func (b *barrier) allLaunched() bool { return len(b.attempts) == b.tasks }

// arrive records that an attempt waits at a barrier after it has passed the given number of
// barriers. It returns the attempts whose wait ends: all waiting attempts if every task has
// arrived or if no further barrier can be passed, otherwise none.
func (b *barrier) arrive(id scheduler.AttemptID, index int, passed uint32) []scheduler.AttemptID {
	if _, again := b.arrived[id]; again {
		return nil
	}
	if b.brokenReason == "" && passed != b.barriersPassed {
		b.brokenReason = fmt.Sprintf("task %d comes to barrier %d, the others to barrier %d", index, passed+1, b.barriersPassed+1)
	}
	b.arrived[id] = struct{}{}
	switch {
	case len(b.arrived) == b.tasks:
		b.barriersPassed++
	case b.brokenReason == "":
		return nil
	}
	return b.release()
}

// succeeded records that a task has succeeded. No further barrier can then be passed. It returns
// the waiting attempts, whose waits must end with an error.
func (b *barrier) succeeded(index int) []scheduler.AttemptID {
	if b.brokenReason == "" {
		b.brokenReason = fmt.Sprintf("task %d has ended after %d barriers: all tasks of the set must come to the same barriers", index, b.barriersPassed)
	}
	return b.release()
}

func (b *barrier) release() []scheduler.AttemptID {
	released := slices.Sorted(maps.Keys(b.arrived))
	clear(b.arrived)
	return released
}

// launchedInBarrier records the launch of an attempt of a barrier set. When all tasks have been
// launched, it sends each task's executor the executors and hosts of all tasks.
func (l *loop) launchedInBarrier(a *attempt) {
	set := a.set
	if set.barrier == nil || set.barrier.allLaunched() {
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
			l.send.barrierRelease(a, b.brokenReason)
		}
	}
}

// discardBarrierResults discards the results of a barrier set that ends before all tasks have
// results.
func (l *loop) discardBarrierResults(set *runningSet) {
	if set.barrier == nil {
		return
	}
	for _, id := range set.barrier.attempts {
		if a := l.attempts[id]; a != nil && a.awaitsBarrierSet {
			delete(l.attempts, id)
			l.record.ended(a, events.OutcomeKilled, a.result.GetMetrics(), l.now)
		}
	}
	set.barrier = nil
}

// endUnschedulableBarriers ends barrier sets that have more tasks than the executors can run at
// once. It has an effect only if all executors run in this process: their cores are not known
// before they register. For other executors, submit has made this check.
func (l *loop) endUnschedulableBarriers() {
	if !l.isLocal() {
		return
	}
	for _, set := range l.sets {
		if problem := l.whyBarrierNeverFits(set); problem != "" {
			l.endSet(set, set.unschedulable(problem))
		}
	}
}

// whyBarrierNeverFits returns why the tasks of a barrier set can never all run at the same time.
// It returns "" if they can, or if they may be able to when more executors have registered.
func (l *loop) whyBarrierNeverFits(set *runningSet) string {
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
