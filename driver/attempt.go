package driver

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// attempt is one attempt of a task on an executor.
type attempt struct {
	id            scheduler.AttemptID
	set           *runningSet
	executor      *executor
	index         int
	number        int  // 0 for the task's first attempt
	killed        bool // set when the driver has sent the executor a kill of the attempt
	askedToCommit bool
	launched      events.Micros
	locality      uint8
	speculative   bool
	hasRow        bool // whether the attempt has a row in events; see events.Recorder.Launched
	// awaitsBarrierSet is true if the attempt succeeded in a barrier set, whose results are
	// delivered only when all its tasks have results.
	awaitsBarrierSet bool
	lossReason       string // why its executor was lost; "" if the executor was not lost

	stored   *storedResult      // the result, if the executor stores it until it is fetched; else nil
	progress *wire.TaskProgress // latest reported counters and metrics; nil before the first report, and after the result is delivered
	result   *wire.TaskUpdate   // the attempt's last update, if it succeeded
	failure  *wire.Failure      // why it failed; nil if it has not failed
}

// isAtExecutor reports whether the executor runs the attempt, has queued it or stores its
// result.
func (a *attempt) isAtExecutor() bool { return a.executor.attempts[a.id] != nil }

func (a *attempt) isStored() bool { return a.stored != nil }

// updateAttempt handles an update that reports an attempt's end or contains a part of its
// result.
func (l *loop) updateAttempt(a *attempt, update *wire.TaskUpdate) {
	var outcome scheduler.Outcome
	switch update.GetState() {
	case wire.TaskState_TASK_STATE_PART:
		a.addPart(update.GetResult())
		return
	case wire.TaskState_TASK_STATE_STORED:
		l.resultStored(a, update)
		return
	case wire.TaskState_TASK_STATE_FINISHED:
		if !a.killed {
			a.executor.succeededAttempts++
		}
		a.result = a.completeResult(update)
		if set := a.set; set.spec.Barrier && !set.ended {
			a.awaitsBarrierSet = true
			if !a.killed {
				l.releaseFromBarrier(set.barrier, set.barrier.succeeded(a.index))
			}
		}
		outcome.Result, outcome.Took = scheduler.ResultSucceeded, coreTime(update.GetMetrics())
	case wire.TaskState_TASK_STATE_RECALLED:
		outcome.Result = scheduler.ResultRecalled
	case wire.TaskState_TASK_STATE_KILLED:
		outcome.Result, outcome.Reason = scheduler.ResultKilled, update.GetFailure().GetMessage()
	default:
		a.executor.failedAttempts++
		if a.failure = update.GetFailure(); a.failure == nil {
			a.failure = &wire.Failure{Message: "the executor gave no reason"}
		}
		outcome = scheduler.Outcome{Result: scheduler.ResultFailed, Reason: a.failure.GetMessage(), CountsAsFailure: !a.failure.GetUncounted()}
	}
	a.countEnd()
	l.record.updated(a, update, l.now)
	e, set := a.executor, a.set
	delete(e.attempts, a.id)
	awaits := a.awaitsBarrierSet // read before handleSchedulerEvents, which may complete the barrier set
	l.handleSchedulerEvents(l.scheduler.Finished(a.id, outcome))
	if !awaits {
		delete(l.attempts, a.id)
	}
	if a.isStored() {
		l.fetch(set)
	}
	if len(e.attempts) > 0 {
		return
	}
	if e.decommission != nil {
		l.stopIdle(e)
		return
	}
	e.idleSince = l.now
	if e.allocationEntry != nil {
		e.allocationEntry.Idle(l.now)
	}
}

// coreTime returns how long an attempt used its cores.
func coreTime(m *wire.Metrics) time.Duration {
	return time.Duration(m.GetDecodeNanos() + m.GetRunNanos() + m.GetEncodeNanos())
}

// countEnd updates the counts of running attempts and stored results when an attempt ends.
func (a *attempt) countEnd() {
	set := a.set
	delete(set.attemptsWithProgress, a.id)
	if !a.isStored() {
		set.runningAttempts--
		return
	}
	a.executor.storedResults--
	set.fetches.remove(a)
}

// handleSchedulerEvents acts on the scheduler's events. If acting on an event ends a task set,
// for example because its results are too large, later events of that set are ignored.
func (l *loop) handleSchedulerEvents(events []scheduler.Event) {
	for _, event := range events {
		switch event := event.(type) {
		case scheduler.TaskDone:
			if a := l.attempts[event.Attempt]; a != nil && !a.set.ended {
				l.taskDone(a)
			}
		case scheduler.TaskSetDone:
			if set := l.sets[event.TaskSet]; set != nil {
				l.endSet(set, nil)
			}
		case scheduler.AttemptEnded:
			l.attemptFailed(event.Attempt, event.Failures)
		case scheduler.TaskSetFailed:
			if a := l.attempts[event.Attempt]; !a.set.ended {
				l.countFailure(a)
				a.reportFailure(event.FailureCount)
				l.endSet(a.set, a.set.taskError(a.index, event.FailureCount, a.executor, a.failure))
			}
		case scheduler.TaskSetAborted:
			if set := l.sets[event.TaskSet]; set != nil {
				l.endSet(set, set.unschedulable(event.Reason))
			}
		case scheduler.TaskSetUnschedulable:
			l.logger.Warn("a job cannot go on with the executors that there are", "job", event.TaskSet, "reason", event.Reason,
				"until", event.Until, "givenUp", event.IdleExecutor)
			if e := l.executors[event.IdleExecutor]; e != nil && l.requester.manager != nil {
				l.decommissionWithoutClusterManager(e, "it is excluded, and a job needs another")
			}
		case scheduler.Excluded:
			l.exclude(event)
		case scheduler.ExclusionEnded:
			l.logger.Info("no longer excluded", "host", event.Host, "executor", event.Executor)
			l.exclusions.remove(event)
			l.record.exclusionEnded(event, l.now)
			l.requester.mayHaveChanged = true
		case scheduler.KillExecutor:
			if e := l.executors[event.Executor]; e != nil {
				l.decommissionWithoutClusterManager(e, event.Reason)
			}
		case scheduler.Recall:
			if e := l.executors[event.Executor]; e != nil {
				l.send.recall(e)
			}
		case scheduler.KillAttempt:
			if a := l.attempts[event.Attempt]; a != nil {
				a.killed = true
				l.send.kill(a, event.Reason)
			}
		}
	}
}

// taskDone counts a task as done and passes its result to the listener. If the set's results are
// too large, it ends the set instead.
func (l *loop) taskDone(a *attempt) {
	set, update := a.set, a.result
	result := Result{
		Index: set.spec.indexOf(a.index), Value: update.GetResult(), AttemptNumber: a.number, ExecutorID: a.executor.id, Host: a.executor.host,
		RunTime: time.Duration(update.GetMetrics().GetRunNanos()),
	}
	l.endCommit(a, true)
	if a.progress = nil; a.awaitsBarrierSet {
		delete(l.attempts, a.id)
		l.record.ended(a, events.OutcomeSucceeded, update.GetMetrics(), l.now)
	}
	if size := int64(len(result.Value)); size > 0 {
		if err := set.receiveResult(size); err != nil {
			l.endSet(set, err)
			return
		}
		set.unreleased.Add(size)
	}
	set.values.add(update.GetValues())
	set.metrics.add(update.GetMetrics())
	set.doneTasks++
	l.history.totals.Done++
	set.listener.TaskDone(result)
}

// attemptFailed handles an attempt that has ended without a result, or whose result is
// discarded. failures is how often the attempt's task has failed so far.
func (l *loop) attemptFailed(id scheduler.AttemptID, failures int) {
	a := l.attempts[id]
	if a == nil || a.set.ended {
		return
	}
	l.endCommit(a, false)
	switch {
	case a.awaitsBarrierSet: // another attempt of its barrier set has failed
		delete(l.attempts, a.id)
		l.record.ended(a, events.OutcomeKilled, a.result.GetMetrics(), l.now)
	case a.failure != nil:
		l.countFailure(a)
		a.reportFailure(failures)
		if a.failure.GetPermanent() {
			l.endSet(a.set, a.set.taskError(a.index, failures, a.executor, a.failure))
		}
	case a.lossReason != "" || a.killed:
		a.reportFailure(failures)
	}
}

// reportFailure reports to the listener that an attempt has ended without a result.
func (a *attempt) reportFailure(failures int) {
	failure := TaskFailure{
		Index: a.set.spec.indexOf(a.index), AttemptNumber: a.number, ExecutorID: a.executor.id, Host: a.executor.host,
		Message: a.failure.GetMessage(), Stack: a.failure.GetStack(), Failures: failures,
	}
	switch {
	case a.lossReason != "":
		failure.Reason, failure.Message = ReasonExecutorLost, "the executor "+a.lossReason
	case a.killed:
		failure.Reason = ReasonAttemptKilled
	}
	a.set.listener.TaskFailed(failure)
}

func (l *loop) countFailure(a *attempt) {
	a.set.failedAttempts++
	l.history.totals.FailedAttempts++
	l.logger.Warn("task failed", "job", a.set.id, "name", a.set.spec.Name, "task", a.set.spec.indexOf(a.index), "try", a.number,
		"executor", a.executor.id, "host", a.executor.host, "error", a.failure.GetMessage())
}

// answerCommit replies to an attempt's commit request. A killed attempt may not commit.
func (l *loop) answerCommit(e *executor, attempt uint64) {
	allowed := false
	if a := e.attempt(attempt); a != nil && !a.killed && !a.set.ended {
		a.askedToCommit = true
		allowed = l.commits.MayCommit(a.set.id, a.index, attempt)
		if !allowed {
			l.logger.Info("another attempt of the task commits its output", "job", a.set.id, "task", a.index, "try", a.number, "executor", e.id)
		}
	}
	l.send.commitReply(e, attempt, allowed)
}

// endCommit reports to the commit coordinator the end of an attempt that has requested to
// commit.
func (l *loop) endCommit(a *attempt, succeeded bool) {
	if a.askedToCommit && !a.set.ended {
		l.commits.AttemptEnded(a.set.id, a.index, uint64(a.id), succeeded)
	}
}
