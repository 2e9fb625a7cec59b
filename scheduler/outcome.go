package scheduler

import (
	"cmp"
	"time"
)

// Outcome describes how an attempt ended.
type Outcome struct {
	Result          Result
	Reason          string        // text for people: what failed, or why the attempt was killed
	CountsAsFailure bool          // set if a failed attempt counts towards TaskSet.MaxFailures
	Took            time.Duration // run time of the attempt as measured by its executor; 0 if unknown
}

// Result is how an attempt ended.
type Result int

// The results of an attempt.
const (
	// ResultSucceeded: the attempt has produced the task's result.
	ResultSucceeded Result = iota
	// ResultFailed: the task function failed, or the executor could not run it.
	ResultFailed
	// ResultKilled: the attempt was stopped on request. It never counts as a failure.
	ResultKilled
	// ResultRecalled: the executor has returned a queued attempt without starting it.
	ResultRecalled
)

// Finished records the end of an attempt and frees the attempt's cores. It returns the events
// that follow: on success [TaskDone] and, after the last task, [TaskSetDone]; otherwise
// [AttemptEnded], or [TaskSetFailed] if the task has failed too often. Before these, there can be
// events that stop other attempts or exclude executors. In a barrier set, TaskDone events follow
// when all tasks have succeeded, and a failure ends the attempts of all tasks. If another attempt
// of the task has succeeded or the set has ended, there are no events. Finished ignores attempts
// whose executor was removed or whose end was recorded before.
//
// The time of the latest Advance or Offer is used as the time of the end.
func (s *Scheduler) Finished(id AttemptID, outcome Outcome) []Event {
	a := s.attempts.byID[id]
	if a == nil {
		return nil
	}
	s.attempts.remove(a)
	return s.endAttempt(nil, a, outcome)
}

// ResultPending records that an attempt has run for the duration took, but that its result has
// not been fetched from its executor. The attempt's cores become free at once, and no
// speculative copy of it is launched any more. If the executor is lost before Finished is
// called, the task is retried, but the loss does not count as a failure of the task. An unknown
// attempt is ignored.
func (s *Scheduler) ResultPending(id AttemptID, took time.Duration) {
	a := s.attempts.byID[id]
	if a == nil || a.state == attemptResultPending {
		return
	}
	a.cancelSpeculativeCopy()
	s.attempts.free(a)
	a.state, a.runTime = attemptResultPending, took
}

// RunningSinceLaunch reports whether an attempt has used cores since it was launched. If its
// executor is lost, only such an attempt was certainly running. An attempt that was queued may
// not have started, or may have ended before the loss.
func (s *Scheduler) RunningSinceLaunch(id AttemptID) bool {
	a := s.attempts.byID[id]
	return a != nil && a.state == attemptRunning
}

// endAttempt appends the events that follow from the end of an attempt.
func (s *Scheduler) endAttempt(events []Event, a *attempt, outcome Outcome) []Event {
	set, index := a.set, int(a.index)
	switch {
	case set.ended || set.states[a.index] == taskDone:
		return events
	case set.barrier != nil:
		return s.endBarrierAttempt(events, a, outcome)
	case outcome.Result == ResultSucceeded:
		return s.succeed(append(events, TaskDone{TaskSet: set.id, Index: index, Attempt: a.id}), a, outcome.Took)
	}
	failures, events := s.addFailure(events, a, outcome)
	if set.ended {
		return events
	}
	if a.otherAttempt == nil {
		set.retry(a.index)
		set.listRetry(a.index)
		set.exhausted = false
		set.node.Enqueue()
	}
	return append(events, AttemptEnded{
		TaskSet: set.id, Index: index, Attempt: a.id, Failures: failures, Reason: outcome.Reason,
	})
}

// succeed records the success of an attempt, and appends the events that follow, except
// TaskDone.
func (s *Scheduler) succeed(events []Event, a *attempt, took time.Duration) []Event {
	set := a.set
	set.states[a.index] = taskDone
	set.done++
	delete(set.histories, a.index)
	if s.config.Speculation.Enabled {
		// Prefer a duration that the executor has measured. The ends of queued attempts are
		// reported late, several at a time.
		set.durations.Add(cmp.Or(a.runTime, took, s.clock.elapsed-a.stateSince))
	}
	if other := a.otherAttempt; other != nil {
		other.cancelSpeculativeCopy()
		events = append(events, KillAttempt{
			Attempt: other.id, Executor: other.executor.ID, Reason: "another attempt of the task was faster",
		})
	}
	return s.endIfDone(events, set)
}

// endIfDone ends a set if all its tasks have succeeded, and appends the events that follow.
func (s *Scheduler) endIfDone(events []Event, set *taskSet) []Event {
	if set.done < len(set.states) {
		return events
	}
	s.endSet(set)
	events = s.excludeForApplication(events, set)
	return append(events, TaskSetDone{TaskSet: set.id})
}
