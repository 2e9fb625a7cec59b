package scheduler

import "fmt"

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
)

// attempt is an attempt that runs.
type attempt struct {
	id       AttemptID
	set      *taskSet
	index    int32
	executor *executor
	// inSet and inExecutor are its places among the running attempts of both.
	inSet, inExecutor int
}

// Finished frees the cores of an attempt that ended and says what follows: of
// a success [TaskDone] and, after the last, [TaskSetDone]; of any other end
// [TaskRetry], or [TaskSetFailed] after a failure too many. An attempt that is
// not known, because its executor was removed or it was reported before, is
// ignored, and so is the outcome of one whose set is over.
func (s *Scheduler) Finished(id AttemptID, outcome Outcome) []Event {
	a := s.attempts[id]
	if a == nil {
		return nil
	}
	ended := *a
	s.release(a)
	return s.conclude(nil, ended, outcome)
}

// launch starts an attempt of a task.
func (s *Scheduler) launch(set *taskSet, index int32, e *executor, locality Locality) {
	number := 0
	if h := set.histories[index]; h != nil {
		number = h.attempts
	}
	set.setWaiting(index, -1)
	set.states[index] = taskRunning
	set.launches[locality]++
	setFree(e, e.free-set.cpus)

	s.attemptsMade++
	var a *attempt
	if last := len(s.spare) - 1; last >= 0 {
		a, s.spare = s.spare[last], s.spare[:last]
	} else {
		a = new(attempt)
	}
	*a = attempt{id: s.attemptsMade, set: set, index: index, executor: e, inSet: len(set.running), inExecutor: len(e.running)}
	set.running = append(set.running, a)
	e.running = append(e.running, a)
	s.attempts[a.id] = a
	set.profile.demand.RunningTasks++
	set.profile.demand.RunningCPUs += set.cpus

	s.launches = append(s.launches, Launch{
		Attempt: a.id, TaskSet: set.id, Index: int(index), Number: number, Executor: e.ID, Locality: locality,
	})
}

// release forgets an attempt that ended and frees its cores.
func (s *Scheduler) release(a *attempt) {
	set, e := a.set, a.executor
	delete(s.attempts, a.id)
	set.profile.demand.RunningTasks--
	set.profile.demand.RunningCPUs -= set.cpus

	last := set.running[len(set.running)-1]
	set.running[a.inSet], last.inSet = last, a.inSet
	set.running = set.running[:len(set.running)-1]

	last = e.running[len(e.running)-1]
	e.running[a.inExecutor], last.inExecutor = last, a.inExecutor
	e.running = e.running[:len(e.running)-1]

	setFree(e, e.free+set.cpus)
	if !e.draining {
		e.noteFreed()
	}
	*a = attempt{}
	s.spare = append(s.spare, a)
}

// conclude appends the events that follow from the end of an attempt.
func (s *Scheduler) conclude(events []Event, a attempt, outcome Outcome) []Event {
	set, index := a.set, int(a.index)
	if set.over {
		return events
	}
	if outcome.Result == Succeeded {
		set.states[index] = taskDone
		set.done++
		delete(set.histories, a.index)
		events = append(events, TaskDone{TaskSet: set.id, Index: index, Attempt: a.id})
		if set.done == len(set.states) {
			s.end(set)
			events = append(events, TaskSetDone{TaskSet: set.id, Status: set.status()})
		}
		return events
	}
	h := set.history(a.index)
	h.attempts++
	if outcome.Result == Failed {
		set.failedAttempts++
		h.failedOn, h.failedAt = a.executor.ID, a.executor.Host
		if outcome.Counts {
			h.failures++
		}
		if h.failures >= set.maxFailures {
			s.end(set)
			events = append(events, TaskSetFailed{
				TaskSet: set.id, Index: index, Attempt: a.id, Failures: h.failures, Reason: outcome.Reason, Status: set.status(),
			})
			return set.kill(events, fmt.Sprintf("task %d of %s failed %d times", index, set.name, h.failures))
		}
	}
	set.states[index] = taskReturned
	set.setWaiting(a.index, 1)
	set.putBack(a.index)
	set.profile.enqueue(set)
	return append(events, TaskRetry{
		TaskSet: set.id, Index: index, Attempt: a.id, Failures: h.failures, Reason: outcome.Reason,
	})
}
