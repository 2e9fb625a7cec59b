package scheduler

import (
	"cmp"
	"fmt"
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
	// CountsAsFailure says of a failed attempt whether it is one of the failures that
	// its set limits.
	CountsAsFailure bool
	// Took is how long the attempt ran, as its executor measured it; 0 where that
	// is not known.
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
	// Recalled: its executor had queued it and gives it back without having begun
	// it.
	Recalled
)

// attemptState is how far an attempt is.
type attemptState uint8

const (
	// attemptRunning has had cores since it was launched.
	attemptRunning attemptState = iota
	// attemptQueued waits at its executor for cores.
	attemptQueued
	// attemptDequeued was queued and has got its cores since. It may have ended:
	// executors report the ends of queued tasks together.
	attemptDequeued
	// attemptResultPending has ended its function, and only its outcome is awaited.
	attemptResultPending
)

// attempt is an attempt that was launched and whose outcome is not known.
type attempt struct {
	id       AttemptID
	set      *taskSet
	executor *executor
	index    int32
	state    attemptState
	// straggles is whether it waits to be copied.
	straggles bool
	// previous and next are its neighbours in its executor's queue.
	previous, next *attempt
	// since is when it got its cores, by the scheduler's clock, and took how long
	// it ran, once it did.
	since, took time.Duration
	// twin is the other attempt of its task, nil where there is none.
	twin *attempt
	// held is what it holds of its executor's resources.
	held []holding
	// inSet and inExecutor are its places among the attempts of both.
	inSet, inExecutor int32
}

// Finished frees the cores of an attempt that ended and says what follows: of
// a success [TaskDone] and, after the last, [TaskSetDone]; of any other end
// [TaskRetry], or [TaskSetFailed] after a failure too many, or [CopyEnded] while
// another attempt of the task runs. An attempt that is not known, because its
// executor was removed or it was reported before, is ignored, and so is the
// outcome of one whose task is done or whose set is over.
//
// The time of all this is that of the latest Advance or Offer.
func (s *Scheduler) Finished(id AttemptID, outcome Outcome) []Event {
	a := s.attempts[id]
	if a == nil {
		return nil
	}
	s.release(a)
	return s.conclude(nil, a, outcome)
}

// counts is whether it matters how an attempt ended.
func (set *taskSet) counts(a *attempt) bool { return !set.over && set.states[a.index] != taskDone }

// ResultPending says that an attempt has run for so long, and its outcome will be known
// later: its result is still at its executor. Its cores are free at once, it takes
// no part in speculation any more, and where its executor is lost first, its task
// waits again without having failed. An attempt that is not known is ignored.
func (s *Scheduler) ResultPending(id AttemptID, took time.Duration) {
	a := s.attempts[id]
	if a == nil || a.state == attemptResultPending {
		return
	}
	a.noCopy()
	s.giveBack(a)
	a.state, a.took = attemptResultPending, took
}

// RunningSinceLaunch is whether an attempt has had cores ever since it was launched: one that
// waits at its executor, or may have ended there, is not to blame for a loss.
func (s *Scheduler) RunningSinceLaunch(id AttemptID) bool {
	a := s.attempts[id]
	return a != nil && a.state == attemptRunning
}

// QueuedAt is how many attempts wait at an executor for cores, as far as it has
// reported.
func (s *Scheduler) QueuedAt(executor string) int {
	if e := s.executors[executor]; e != nil {
		return e.queue.length
	}
	return 0
}

// CountFailure counts a failure of a task after the fact: the loss of its executor,
// reported as one that does not count, turned out to be the application's fault.
// It returns how often the task has failed; 0 where it has its result, or its set
// is over. To end the set where that is too often is the caller's.
func (s *Scheduler) CountFailure(taskSet uint64, index int) (failures int) {
	set := s.sets[taskSet]
	if set == nil || set.states[index] == taskDone {
		return 0
	}
	set.failedAttempts++
	h := set.history(int32(index))
	h.failures++
	return h.failures
}

// launch starts an attempt of a task that waits, or queues it at the executor.
func (s *Scheduler) launch(set *taskSet, index int32, e *executor, locality Locality, queued bool) {
	number := 0
	if h := set.histories[index]; h != nil {
		number = h.attempts
	}
	set.setWaiting(index, -1)
	if set.states[index] == taskRetried {
		set.returned--
	}
	set.states[index] = taskRunning
	s.start(set, index, e, Launch{Number: number, Locality: locality, Queued: queued})
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
	a := &attempt{
		id: s.attemptsMade, set: set, index: index, executor: e, since: s.clock,
		inSet: int32(len(set.running)), inExecutor: int32(len(e.running)),
	}
	s.attempts[a.id] = a
	set.running = append(set.running, a)
	e.running = append(e.running, a)
	set.profile.demand.RunningTasks++
	if l.Queued {
		e.queue.push(a)
	} else {
		s.holdCores(a)
	}
	if len(set.requests) > 0 {
		a.held = e.hold(set.requests)
		l.Resources = e.addresses(a.held)
	}
	l.Attempt, l.TaskSet, l.Index, l.Executor = a.id, set.id, int(index), e.ID
	s.launches = append(s.launches, l)
	return a
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

	if a.state != attemptResultPending {
		s.giveBack(a)
	}
	a.noCopy()
	if a.twin != nil {
		a.twin.twin = nil
	}
	delete(s.attempts, a.id)
}

// giveBack gives back what an attempt holds of its executor, or its place in the
// queue there.
func (s *Scheduler) giveBack(a *attempt) {
	set, e := a.set, a.executor
	if a.state == attemptQueued {
		e.queue.remove(a)
	} else {
		set.profile.demand.RunningCPUs -= set.cpus
		e.giveBack(a.held)
		setFree(e, e.free+set.cpus)
		set.node.hold(-set.cpus)
	}
	s.promote(e)
	if e.available {
		e.noteFreed()
	}
}

// conclude appends the events that follow from the end of an attempt.
func (s *Scheduler) conclude(events []Event, a *attempt, outcome Outcome) []Event {
	set, index := a.set, int(a.index)
	switch {
	case !set.counts(a):
		return events
	case set.barrier != nil:
		return s.concludeBarrier(events, a, outcome)
	case outcome.Result == Succeeded:
		return s.succeed(append(events, TaskDone{TaskSet: set.id, Index: index, Attempt: a.id}), a, outcome.Took)
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
	set.states[index] = taskRetried
	set.returned++
	set.setWaiting(index, 1)
}

// succeed appends what follows from a task's result, beside its TaskDone.
func (s *Scheduler) succeed(events []Event, a *attempt, took time.Duration) []Event {
	set := a.set
	set.states[a.index] = taskDone
	set.done++
	delete(set.histories, a.index)
	if s.config.Speculation.Enabled {
		// The executor's clock goes first: what was queued is reported some time
		// after it ended, and together with others.
		set.durations.add(cmp.Or(a.took, took, s.clock-a.since))
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
func (s *Scheduler) fail(events []Event, a *attempt, outcome Outcome) (int, []Event) {
	set := a.set
	if outcome.Result == Recalled && a.twin == nil { // as though it had not been launched
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
	if !outcome.CountsAsFailure {
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
