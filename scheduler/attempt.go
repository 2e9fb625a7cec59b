package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/scheduler/resource"
)

// AttemptID identifies an attempt of a task. A scheduler numbers the attempts that it launches
// from 1.
type AttemptID uint64

type attemptState uint8

const (
	attemptRunning attemptState = iota // has used cores since its launch
	attemptQueued                      // waits in its executor's queue for cores
	// attemptDequeued was queued when it was launched and uses cores now. It may have ended
	// already, because executors report the ends of several queued attempts together.
	attemptDequeued
	// attemptResultPending has run and uses no cores any more. Its outcome is not known, because
	// its result has not been fetched from its executor yet.
	attemptResultPending
)

// attempt is a launched attempt of a task, until its outcome is known.
type attempt struct {
	id                   AttemptID
	set                  *taskSet
	executor             *executor
	index                int32
	state                attemptState
	needsSpeculativeCopy bool     // a speculative copy of the attempt is to be launched
	previous, next       *attempt // neighbours in the executor's queue; nil if the attempt is not queued
	// stateSince is the value of clock.elapsed when the attempt was assigned its cores or, while
	// the attempt is queued, when it was queued. runTime is the attempt's run time; 0 until its
	// result is pending.
	stateSince, runTime         time.Duration
	otherAttempt                *attempt             // the other running attempt of the task (its speculative copy or its original), or nil
	resources                   resource.Reservation // resources such as GPUs that are reserved for the attempt at its executor
	indexInSet, indexInExecutor int32                // indexes in set.running and executor.running
}

// byID returns attempts sorted by id.
func byID(attempts []*attempt) []*attempt {
	return slices.SortedFunc(slices.Values(attempts), func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
}

// attempts contains all attempts whose outcome is not known. Its methods update the free cores
// of executors, the cores that pools use, and the demand of profiles.
type attempts struct {
	clock    *clock
	byID     map[AttemptID]*attempt
	last     AttemptID
	launches []Launch // launched by the current offer
}

// launch launches a waiting task on an executor. If queued is true, the attempt waits in the
// executor's queue for cores.
func (t *attempts) launch(set *taskSet, index int32, e *executor, locality Locality, queued bool) {
	number := 0
	if h := set.histories[index]; h != nil {
		number = h.attempts
	}
	set.launched(index)
	t.start(set, index, e, Launch{Number: number, Locality: locality, Queued: queued})
}

// launchSpeculativeCopy launches a speculative copy of an attempt.
func (t *attempts) launchSpeculativeCopy(original *attempt, e *executor) {
	set, number := original.set, 1
	if h := set.histories[original.index]; h != nil {
		number += h.attempts
	}
	original.cancelSpeculativeCopy()
	a := t.start(set, original.index, e, Launch{Number: number, Locality: set.locality(original.index, e), Speculative: true})
	a.otherAttempt, original.otherAttempt = original, a
}

func (t *attempts) start(set *taskSet, index int32, e *executor, l Launch) *attempt {
	t.last++
	a := &attempt{
		id: t.last, set: set, index: index, executor: e, stateSince: t.clock.elapsed,
		indexInSet: int32(len(set.running)), indexInExecutor: int32(len(e.running)),
	}
	t.byID[a.id] = a
	set.running = append(set.running, a)
	e.running = append(e.running, a)
	set.profile.demand.RunningTasks++
	if l.Queued {
		e.queue.push(a)
	} else {
		t.reserve(a)
	}
	if len(set.requests) > 0 {
		a.resources = e.resources.Reserve(set.requests)
		l.Resources = e.resources.Addresses(a.resources)
	}
	l.Attempt, l.TaskSet, l.Index, l.Executor = a.id, set.id, int(index), e.ID
	t.launches = append(t.launches, l)
	return a
}

// reserve subtracts the cores of an attempt from its executor's free cores.
func (t *attempts) reserve(a *attempt) {
	set, p := a.set, a.set.profile
	p.setFree(a.executor, a.executor.free-set.cpus)
	set.node.AddCores(set.cpus)
	p.demand.RunningCPUs += set.cpus
}

// free frees the cores and resources of an attempt, or removes it from its executor's queue. It
// then assigns free cores to the first attempts of that queue. Executors start queued attempts
// on their own, so these attempts have already started.
func (t *attempts) free(a *attempt) {
	set, e, p := a.set, a.executor, a.set.profile
	if a.state == attemptQueued {
		e.queue.remove(a)
	} else {
		p.demand.RunningCPUs -= set.cpus
		e.resources.Release(a.resources)
		p.setFree(e, e.free+set.cpus)
		set.node.AddCores(-set.cpus)
	}
	for first := e.queue.first; first != nil && first.set.cpus <= e.free; first = e.queue.first {
		e.queue.remove(first)
		first.state, first.stateSince = attemptDequeued, t.clock.elapsed
		t.reserve(first)
	}
	if e.available {
		p.markNewlyFree(e)
	}
}

// remove removes an attempt that ended, and frees its cores and resources.
func (t *attempts) remove(a *attempt) {
	set, e := a.set, a.executor
	set.profile.demand.RunningTasks--

	last := set.running[len(set.running)-1]
	set.running[a.indexInSet], last.indexInSet = last, a.indexInSet
	set.running[len(set.running)-1] = nil
	set.running = set.running[:len(set.running)-1]

	last = e.running[len(e.running)-1]
	e.running[a.indexInExecutor], last.indexInExecutor = last, a.indexInExecutor
	e.running[len(e.running)-1] = nil
	e.running = e.running[:len(e.running)-1]

	if a.state != attemptResultPending {
		t.free(a)
	}
	a.cancelSpeculativeCopy()
	if a.otherAttempt != nil {
		a.otherAttempt.otherAttempt = nil
	}
	delete(t.byID, a.id)
}

// queue lists the attempts that wait at an executor for cores, in the order in which they start.
type queue struct {
	first, last *attempt
	length      int
}

func (q *queue) push(a *attempt) {
	a.state = attemptQueued
	if a.previous = q.last; a.previous == nil {
		q.first = a
	} else {
		a.previous.next = a
	}
	q.last = a
	q.length++
}

func (q *queue) remove(a *attempt) {
	if a.previous == nil {
		q.first = a.next
	} else {
		a.previous.next = a.next
	}
	if a.next == nil {
		q.last = a.previous
	} else {
		a.next.previous = a.previous
	}
	a.previous, a.next = nil, nil
	q.length--
}
