package driver

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// errAbandoned is the cause with which a run ends whose results nobody wants
// any more.
var errAbandoned = errors.New("the job's caller left it")

// run is one job at work. Submit makes it with its id, job and listener; the rest
// is the event loop's.
type runningSet struct {
	id       uint64 // of the task set
	job      TaskSet
	listener Listener
	delivery

	kind           *kind // of the executors for its tasks
	cpus           int
	resources      map[string]float64 // of each task
	pool           string             // "" where there are none
	slots          int                // tasks that such an executor runs at once
	maxFailures    int
	sentTo         map[*executor]struct{} // who has the task set's common part
	submitted      time.Time
	done           int // tasks
	running        int // attempts
	failedAttempts int
	locality       Locality
	begun, ended   bool
	gathering      *gathering // of a barrier set
	intake         intake
	values         values // of tasks that are done
	metrics        Metrics
	reporting      map[scheduler.AttemptID]*attempt // those that run and have reported progress

	launches     int // of attempts
	launchesSeen int // at the latest look for hindrances
	copies       int
	hindrance    string // why nothing is launched; "" where that is not worth telling
}

// submit begins a run.
func (l *loop) submit(r *runningSet) {
	r.submitted = l.now
	r.cpus = r.job.CPUs
	if r.cpus < 1 {
		r.cpus = config.TaskCPUs.In(l.d.options.Config)
	}
	r.maxFailures = r.job.MaxFailures
	if r.maxFailures < 1 {
		r.maxFailures = config.TaskMaxFailures.In(l.d.options.Config)
	}
	r.kind = l.kindOf(r.job.Profile)
	if r.resources = r.job.Resources; r.resources == nil {
		r.resources = config.TaskResources(l.d.options.Config)
	}
	r.pool = l.pool(&r.job)
	slots := r.kind.slots(l.d.options.Config, r.cpus, r.resources)
	r.slots = max(1, slots)
	r.intake = newIntake(l.d.options.Config, &r.job)
	r.sentTo = map[*executor]struct{}{}
	r.reporting = map[scheduler.AttemptID]*attempt{}
	l.history.totals.Jobs++
	l.runs[r.id] = r
	if l.stopping {
		l.endRun(r, ErrStopped)
		return
	}
	if len(r.job.Tasks) == 0 {
		l.endRun(r, nil)
		return
	}
	if cores := r.kind.profile.Cores; r.cpus > cores && !l.isLocal() {
		l.endRun(r, fmt.Errorf("job %q: %w: each takes %d cores, and its executors have %d: lower task.cpus (or what the job says), "+
			"or raise executor.cores (or what the job's resource profile says)", r.job.Name, ErrUnschedulable, r.cpus, cores))
		return
	}
	if slots < 1 && !l.isLocal() {
		l.endRun(r, fmt.Errorf("job %q: %w: each takes %v of the resources of its executor, and its executors have %v: lower "+
			"task.resource.NAME.amount (or what the job says), or raise executor.resource.NAME.amount (or what the job's resource profile says)",
			r.job.Name, ErrUnschedulable, amountsText(r.resources), amountsText(config.TaskResourceNames(l.d.options.Config, r.kind.profile.Resources))))
		return
	}
	if problem := l.tooMany(r); problem != "" {
		l.endRun(r, fmt.Errorf("job %q: %w: %s", r.job.Name, ErrUnschedulable, problem))
		return
	}
	r.kind.begin()
	r.begun = true
	choosy := 0 // tasks that prefer some place
	for i := range r.job.Tasks {
		if t := &r.job.Tasks[i]; len(t.Hosts)+len(t.Executors) > 0 {
			choosy++
		}
	}
	priority := r.job.Priority
	if priority.Job == 0 {
		priority.Job = r.id
	}
	set := scheduler.TaskSet{ID: r.id, Name: r.job.Name, Profile: r.kind.profile.ID,
		Tasks: len(r.job.Tasks), CPUs: r.cpus, MaxFailures: r.maxFailures,
		Resources: r.resources, Pool: r.job.Pool, Barrier: r.job.Barrier, Priority: priority}
	if choosy > 0 {
		set.Preferences = func(index int) scheduler.Preferences {
			return scheduler.Preferences{Executors: r.job.Tasks[index].Executors, Hosts: r.job.Tasks[index].Hosts}
		}
	}
	if err := l.scheduler.Submit(set); err != nil {
		l.endRun(r, fmt.Errorf("job %q: %w", r.job.Name, err))
		return
	}
	l.demand.changed = true
	l.logger.Info("job submitted", "job", r.id, "name", r.job.Name, "tasks", len(r.job.Tasks), "preferPlaces", choosy,
		"profile", r.kind.profile.ID, "pool", r.pool, "group", r.job.Group)
}

// update takes what an executor says of an attempt that it runs.
func (l *loop) update(a *attempt, update *wire.TaskUpdate) {
	var outcome scheduler.Outcome
	switch update.GetState() {
	case wire.TaskState_TASK_STATE_PART:
		a.took(update.GetResult())
		return
	case wire.TaskState_TASK_STATE_STORED:
		l.ran(a, update)
		return
	case wire.TaskState_TASK_STATE_FINISHED:
		if !a.killed {
			a.executor.done++
		}
		if a.result = a.whole(update); a.run.job.Barrier && !a.run.ended {
			if a.held = true; !a.killed {
				l.leftGathering(a)
			}
		}
		outcome.Result, outcome.Took = scheduler.Succeeded, tookOf(update.GetMetrics())
	case wire.TaskState_TASK_STATE_RECALLED:
		outcome.Result = scheduler.Recalled
	case wire.TaskState_TASK_STATE_KILLED:
		outcome.Result, outcome.Reason = scheduler.Killed, update.GetFailure().GetMessage()
	default:
		a.executor.failed++
		if a.failure = update.GetFailure(); a.failure == nil {
			a.failure = &wire.Failure{Message: "the executor gave no reason"}
		}
		outcome = scheduler.Outcome{Result: scheduler.Failed, Reason: a.failure.GetMessage(), CountsAsFailure: !a.failure.GetUncounted()}
	}
	l.stopped(a)
	delete(a.executor.attempts, a.id)
	id, e, r, held, away := a.id, a.executor, a.run, a.held, a.away != nil
	l.act(l.scheduler.Finished(id, outcome))
	if !held { // else it stays until all of its barrier set have ended, or has gone by now
		delete(l.attempts, id)
	}
	if away {
		l.fetch(r)
	}
	if len(e.attempts) == 0 {
		l.idle(e)
	}
}

// tookOf is how long an attempt had its core.
func tookOf(m *wire.Metrics) time.Duration {
	return time.Duration(m.GetDecodeNanos() + m.GetRunNanos() + m.GetEncodeNanos())
}

// idle notes that an executor runs nothing any more.
func (l *loop) idle(e *executor) {
	if e.departure != nil {
		l.dismiss(e)
		return
	}
	e.idleSince = l.now
	if e.member != nil {
		e.member.Idle(l.now)
	}
}

// act does what the scheduler's events ask for. An event may end a run for a
// reason of the driver's own; what the scheduler had to say of that run before
// is then without object.
func (l *loop) act(events []scheduler.Event) {
	for _, event := range events {
		switch event := event.(type) {
		case scheduler.TaskDone:
			if a := l.attempts[event.Attempt]; a != nil && !a.run.ended {
				l.finished(a)
			}
		case scheduler.TaskSetDone:
			if r := l.runs[event.TaskSet]; r != nil {
				l.endRun(r, nil)
			}
		case scheduler.AttemptEnded:
			if a := l.attempts[event.Attempt]; a != nil && !a.run.ended {
				l.unfinished(a, event.Failures)
			}
		case scheduler.TaskSetFailed:
			if a := l.attempts[event.Attempt]; !a.run.ended {
				l.noteFailure(a)
				a.run.tellFailure(a, event.Failures)
				l.endRun(a.run, a.run.taskError(a.index, event.Failures, a.executor, a.failure))
			}
		case scheduler.TaskSetAborted:
			l.aborted(event)
		case scheduler.TaskSetUnschedulable:
			l.unschedulable(event)
		case scheduler.Excluded:
			l.excluded(event)
		case scheduler.ExclusionEnded:
			l.readmitted(event)
		case scheduler.KillExecutor:
			if e := l.executors[event.Executor]; e != nil {
				l.departByItself(e, event.Reason)
			}
		case scheduler.Recall:
			if e := l.executors[event.Executor]; e != nil {
				l.outgoing(e).Recall = true
			}
		case scheduler.KillAttempt:
			if a := l.attempts[event.Attempt]; a != nil {
				a.killed = true
				message := l.outgoing(a.executor)
				// The reason may be an error of the user's, of any bytes.
				reason := strings.ToValidUTF8(event.Reason, "\uFFFD")
				message.Kills = append(message.Kills, &wire.KillTask{Attempt: uint64(a.id), Reason: reason})
			}
		}
	}
}

// finished hands a result to the run's consumer.
func (l *loop) finished(a *attempt) {
	r, update := a.run, a.result
	result := Result{
		Index: r.job.indexOf(a.index), Value: update.GetResult(), AttemptNumber: int(a.try), ExecutorID: a.executor.id, Host: a.executor.host,
		RunTime: time.Duration(update.GetMetrics().GetRunNanos()),
	}
	l.settleCommit(a, true)
	if a.progress = nil; a.held {
		delete(l.attempts, a.id)
	}
	if size := int64(len(result.Value)); size > 0 {
		if err := r.admit(size); err != nil {
			l.endRun(r, err)
			return
		}
		r.unreleased.Add(size)
	}
	r.values.add(update.GetValues())
	r.metrics.add(update.GetMetrics())
	r.done++
	l.history.totals.Done++
	r.listener.TaskDone(result)
}

// unfinished notes that an attempt ended without a result that counts, and that
// its task has failed so often.
func (l *loop) unfinished(a *attempt, failures int) {
	r := a.run
	l.settleCommit(a, false)
	switch {
	case a.held: // it has not failed: another of its barrier set has
		delete(l.attempts, a.id)
	case a.failure != nil:
		l.noteFailure(a)
		r.tellFailure(a, failures)
		if a.failure.GetPermanent() {
			l.endRun(r, r.taskError(a.index, failures, a.executor, a.failure))
		}
	case a.lost != "" || a.killed:
		r.tellFailure(a, failures)
	}
}

// tellFailure has the listener of a run told that an attempt has no result.
func (r *runningSet) tellFailure(a *attempt, failures int) {
	failure := TaskFailure{
		Index: r.job.indexOf(a.index), AttemptNumber: a.try, ExecutorID: a.executor.id, Host: a.executor.host,
		Message: a.failure.GetMessage(), Stack: a.failure.GetStack(), Failures: failures,
	}
	switch {
	case a.lost != "":
		failure.Reason, failure.Message = LostExecutor, "the executor "+a.lost
	case a.killed:
		failure.Reason = KilledAttempt
	}
	r.listener.TaskFailed(failure)
}

func (l *loop) noteFailure(a *attempt) {
	a.run.failedAttempts++
	l.history.totals.FailedAttempts++
	l.logger.Warn("task failed", "job", a.run.id, "name", a.run.job.Name, "task", a.run.job.indexOf(a.index), "try", a.try,
		"executor", a.executor.id, "host", a.executor.host, "error", a.failure.GetMessage())
}

func (r *runningSet) taskError(index, failures int, e *executor, failure *wire.Failure) *TaskError {
	return &TaskError{
		Job: r.job.Name, Index: r.job.indexOf(index), Failures: failures, ExecutorID: e.id, Host: e.host,
		Message: failure.GetMessage(), Stack: failure.GetStack(),
	}
}

// endRun ends a run and kills what it still has running.
func (l *loop) endRun(r *runningSet, err error) {
	r.ended = true
	delete(l.runs, r.id)
	if r.begun {
		r.kind.end(l.now)
	}
	if err != nil {
		l.act(l.scheduler.Cancel(r.id, fmt.Sprintf("the job ended: %v", err)))
	}
	for e := range r.sentTo {
		l.forget(e, r)
	}
	r.sentTo = nil
	r.hindrance = ""
	l.commits.Forget(r.id)
	l.disperse(r)
	l.demand.changed = true

	l.values.join(&r.values)
	status := r.status(JobSucceeded)
	status.Counters, status.Gauges = r.values.status()
	ended := l.now
	status.Ended = &ended
	var failure *TaskError
	var tooLarge *ResultSizeError
	switch {
	case errors.As(err, &failure), errors.As(err, &tooLarge), errors.Is(err, ErrUnschedulable):
		status.State = JobFailed
	case err != nil:
		status.State = JobCancelled
	}
	if err != nil {
		status.Error = err.Error()
	}
	l.history.jobs = appendKept(l.history.jobs, status)
	l.logger.Info("job ended", "job", r.id, "name", r.job.Name, "state", status.State, "tasks", len(r.job.Tasks), "done", r.done,
		"failedAttempts", r.failedAttempts, "took", ended.Sub(r.submitted).Round(time.Millisecond))
	r.listener.Ended(err)
}
