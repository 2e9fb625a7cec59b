package scheduler

import (
	"fmt"
	"slices"
	"time"
)

// AttemptID names an attempt of a task. IDs count up from 1 over the whole life
// of a scheduler.
type AttemptID uint64

// Outcome is how an attempt ended.
type Outcome struct {
	Result Result
	// Reason is for people: what went wrong, or why the attempt was killed.
	Reason string
	// Counts says of a failed attempt whether it is one of the failures that
	// its set limits.
	Counts bool
	// Took is how long the attempt ran at its executor; 0 where that is not known.
	// See Config.LaunchAhead.
	Took time.Duration
}

// Result is the kind of an outcome.
type Result int

// The ways in which an attempt ends.
const (
	// Succeeded: the task has its result.
	Succeeded Result = iota
	// Failed: the task function failed, or the executor could not run it.
	Failed
	// Killed: the attempt was stopped on request. It never counts as failure.
	Killed
	// Returned: its executor gives it back, which it had not begun. Its cores
	// were others' for too long after it was launched ahead.
	Returned
)

// attempt is an attempt that runs.
type attempt struct {
	id       AttemptID
	set      *taskSet
	executor *executor
	index    int32
	// straggles is whether it waits to be copied.
	straggles bool
	// ran is whether its function has ended, and only its outcome is awaited.
	ran bool
	// ahead is whether it waits for cores of its executor, between previous and
	// next in the executor's queue.
	ahead          bool
	previous, next *attempt
	// calledBack is whether it was asked to come back from there.
	calledBack bool
	// since is when it got its cores, by the scheduler's clock, and took how long
	// it ran, once it did.
	since, took time.Duration
	// twin is the other attempt of its task that runs, nil where there is none.
	twin *attempt
	// held is what it holds of its executor's resources, nil for nothing.
	held *[]holding
	// inSet and inExecutor are its places among the running attempts of both.
	inSet, inExecutor int32
}

// Finished frees the cores of an attempt that ended and says what follows: of
// a success [TaskDone] and, after the last, [TaskSetDone]; of any other end
// [TaskRetry], or [TaskSetFailed] after a failure too many, or [CopyEnded] while
// another attempt of the task runs; and a [CallBack] for each attempt that waits
// where that shows the set's tasks to be long. An attempt that is not known,
// because its executor was removed or it was reported before, is ignored, and so
// is the outcome of one whose task is done or whose set is over.
//
// The time of all this is that of the latest Advance or Offer.
func (s *Scheduler) Finished(id AttemptID, outcome Outcome) []Event {
	a := s.attempts.Get(id)
	if a == nil {
		return nil
	}
	ended := s.over(a, outcome)
	return s.callBack(s.conclude(nil, ended, outcome), ended.set)
}

// Succeeded is Finished for an attempt that has succeeded after so long. Instead
// of by a [TaskDone] it says by a result of its own whether the attempt's result
// is the task's, as nearly all are; those of barrier sets come as events.
func (s *Scheduler) Succeeded(id AttemptID, took time.Duration) (done bool, events []Event) {
	a := s.attempts.Get(id)
	if a == nil {
		return false, nil
	}
	outcome := Outcome{Result: Succeeded, Took: took}
	ended := s.over(a, outcome)
	if set := ended.set; set.counts(ended) && set.barrier == nil {
		done, events = true, s.succeed(nil, ended)
	} else {
		events = s.conclude(nil, ended, outcome)
	}
	return done, s.callBack(events, ended.set)
}

// over frees what an attempt had, and returns what it was.
func (s *Scheduler) over(a *attempt, outcome Outcome) attempt {
	s.notePace(a, outcome)
	ended := *a
	s.release(a)
	return ended
}

// counts is whether it matters how an attempt ended.
func (set *taskSet) counts(a attempt) bool { return !set.over && set.states[a.index] != taskDone }

// Ran says that an attempt has run, and its outcome will be known later: its
// result is still at its executor. Its cores are free at once, it takes no part
// in speculation any more, and where its executor is lost first, its task waits
// again without having failed. An attempt that is not known is ignored.
func (s *Scheduler) Ran(id AttemptID) {
	a := s.attempts.Get(id)
	if a == nil || a.ran {
		return
	}
	a.noCopy()
	s.giveBack(a)
	a.ran, a.took = true, s.clock-a.since
}

// launch starts an attempt of a task that waits.
func (s *Scheduler) launch(set *taskSet, index int32, e *executor, locality Locality) {
	number := 0
	if h := set.histories[index]; h != nil {
		number = h.attempts
	}
	set.setWaiting(index, -1)
	if set.states[index] == taskReturned {
		set.returned--
	}
	set.states[index] = taskRunning
	s.start(set, index, e, Launch{Number: number, Locality: locality})
}

// copy starts the copy of an attempt.
func (s *Scheduler) copy(original *attempt, e *executor) {
	set, number := original.set, 1
	if h := set.histories[original.index]; h != nil {
		number += h.attempts
	}
	original.noCopy()
	a := s.start(set, original.index, e, Launch{Number: number, Locality: set.locality(original.index, e), Speculative: true})
	a.twin, original.twin = original, a
}

func (s *Scheduler) start(set *taskSet, index int32, e *executor, l Launch) *attempt {
	set.launches[l.Locality]++
	s.attemptsMade++
	a := s.attempts.Add(s.attemptsMade)
	*a = attempt{
		id: s.attemptsMade, set: set, index: index, executor: e, since: s.clock,
		inSet: int32(len(set.running)), inExecutor: int32(len(e.running)),
	}
	set.running = push(set.running, a)
	e.running = push(e.running, a)
	set.profile.demand.RunningTasks++
	if l.Ahead {
		e.queue.push(a)
	} else {
		s.holdCores(a)
	}

	if len(set.requests) > 0 {
		held := e.hold(set.requests)
		a.held, l.Resources = &held, e.addresses(held)
	}
	l.Attempt, l.TaskSet, l.Index, l.Executor = a.id, set.id, int(index), e.ID
	s.launches = push(s.launches, l)
	return a
}

// push appends to a list that may become very long: growing by a quarter each time,
// as append does then, would take five times what the list has in the end.
func push[T any](list []T, one T) []T {
	if len(list) == cap(list) {
		list = slices.Grow(list, max(len(list), 1))
	}
	return append(list, one)
}

const (
	// keptRunning is for how many attempts an executor keeps room when it runs none.
	// There may be very many executors, and its next tasks may be long.
	keptRunning = 64
	// mostSpareLists is how many larger lists are kept for those that need one next.
	mostSpareLists = 64
)

// makeRoom has an executor's list of attempts take so many more.
func (s *Scheduler) makeRoom(e *executor, more int) {
	last := len(s.spareLists) - 1
	if last < 0 || cap(e.running)-len(e.running) >= more {
		e.running = slices.Grow(e.running, more)
		return
	}
	e.running = slices.Grow(append(s.spareLists[last], e.running...), more)
	s.spareLists[last] = nil
	s.spareLists = s.spareLists[:last]
}

// releaseRoom takes the room of an executor's empty list for others.
func (s *Scheduler) releaseRoom(e *executor) {
	if cap(e.running) <= keptRunning {
		return
	}
	if len(s.spareLists) < mostSpareLists {
		s.spareLists = append(s.spareLists, e.running)
	}
	e.running = nil
}

// release forgets an attempt that ended and frees its cores.
func (s *Scheduler) release(a *attempt) {
	set, e := a.set, a.executor
	set.profile.demand.RunningTasks--

	last := set.running[len(set.running)-1]
	set.running[a.inSet], last.inSet = last, a.inSet
	set.running[len(set.running)-1] = nil
	set.running = set.running[:len(set.running)-1]

	last = e.running[len(e.running)-1]
	e.running[a.inExecutor], last.inExecutor = last, a.inExecutor
	e.running[len(e.running)-1] = nil
	e.running = e.running[:len(e.running)-1]
	if len(e.running) == 0 {
		s.releaseRoom(e)
	}

	if !a.ran {
		s.giveBack(a)
	}
	a.noCopy()
	if a.twin != nil {
		a.twin.twin = nil
	}
	s.attempts.Delete(a.id)
}

// giveBack gives back what an attempt holds of its executor, or its place in the
// queue there.
func (s *Scheduler) giveBack(a *attempt) {
	set, e := a.set, a.executor
	switch next := e.queue.first; {
	case a.ahead:
		e.queue.remove(a)
		s.promote(e) // the one behind it may need fewer cores
	case next != nil && next.set == set && a.held == nil:
		// It takes over the very cores: they are free nowhere in between.
		e.queue.remove(next)
		next.since = s.clock
		s.promote(e)
	default:
		set.profile.demand.RunningCPUs -= set.cpus
		if a.held != nil {
			e.giveBack(*a.held)
		}
		setFree(e, e.free+set.cpus)
		set.node.hold(-set.cpus)
		s.promote(e)
	}
	if e.available {
		e.noteFreed()
	}
}

// conclude appends the events that follow from the end of an attempt.
func (s *Scheduler) conclude(events []Event, a attempt, outcome Outcome) []Event {
	set, index := a.set, int(a.index)
	switch {
	case !set.counts(a):
		return events
	case set.barrier != nil:
		return s.concludeBarrier(events, a, outcome)
	case outcome.Result == Succeeded:
		return s.succeed(append(events, TaskDone{TaskSet: set.id, Index: index, Attempt: a.id}), a)
	}
	failures, events := s.fail(events, a, outcome)
	if set.over {
		return events
	}
	if a.twin != nil {
		return append(events, CopyEnded{
			TaskSet: set.id, Index: index, Attempt: a.id, Failures: failures, Reason: outcome.Reason,
		})
	}
	set.comeBack(a.index)
	set.putBack(a.index)
	set.node.enqueue()
	return append(events, TaskRetry{
		TaskSet: set.id, Index: index, Attempt: a.id, Failures: failures, Reason: outcome.Reason,
	})
}

// comeBack has a task wait again.
func (set *taskSet) comeBack(index int32) {
	set.states[index] = taskReturned
	set.returned++
	set.setWaiting(index, 1)
}

// succeed appends what follows from a task's result, beside its TaskDone.
func (s *Scheduler) succeed(events []Event, a attempt) []Event {
	set := a.set
	set.states[a.index] = taskDone
	set.done++
	delete(set.histories, a.index)
	if s.config.Speculation.Enabled {
		took := s.clock - a.since
		if a.ran {
			took = a.took
		}
		set.durations.add(took)
	}
	if twin := a.twin; twin != nil {
		twin.noCopy()
		events = append(events, KillAttempt{
			Attempt: twin.id, Executor: twin.executor.ID, Reason: "another attempt of the task was faster",
		})
	}
	return s.finish(events, set)
}

// finish ends a set that has all its results.
func (s *Scheduler) finish(events []Event, set *taskSet) []Event {
	if set.done < len(set.states) {
		return events
	}
	s.end(set)
	events = s.foldFailures(events, set)
	return append(events, TaskSetDone{TaskSet: set.id, Status: set.status()})
}

// fail counts an attempt that ended without a result, and ends its set if that
// was a failure too many. It returns how often the task failed.
func (s *Scheduler) fail(events []Event, a attempt, outcome Outcome) (int, []Event) {
	set := a.set
	if outcome.Result == Returned && a.twin == nil { // as though it had not been launched
		if h := set.histories[a.index]; h != nil {
			return h.failures, events
		}
		return 0, events
	}
	h := set.history(a.index)
	h.attempts++
	if outcome.Result != Failed {
		return h.failures, events
	}
	set.failedAttempts++
	h.failedOn, h.failedAt = a.executor.ID, a.executor.Host
	if !outcome.Counts {
		return h.failures, events
	}
	h.failures++
	if h.failures < set.maxFailures {
		return h.failures, s.noteFailure(events, set, a.index, a.executor)
	}
	s.end(set)
	events = append(events, TaskSetFailed{
		TaskSet: set.id, Index: int(a.index), Attempt: a.id, Failures: h.failures, Reason: outcome.Reason, Status: set.status(),
	})
	return h.failures, set.kill(events, fmt.Sprintf("task %d of %s failed %d times", a.index, set.name, h.failures))
}
