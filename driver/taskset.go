package driver

import (
	"errors"
	"fmt"
	"slices"
	"time"

	scheduler "github.com/bobbin-yarn/bobbin/driver/provisional"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// errAbandoned is the cause with which a run ends whose results nobody wants
// any more.
var errAbandoned = errors.New("the job's caller left it")

// run is one job at work. Run makes it with job and results; the rest is the
// event loop's.
type run struct {
	job     Job
	results *results

	id             uint64 // of the task set
	cpus           int
	sentTo         map[*executor]struct{} // who has the task set's common part
	submitted      time.Time
	done           int // tasks
	running        int // attempts
	failedAttempts int
	locality       Locality
	ended          bool
}

// attempt is one try of a task at an executor.
type attempt struct {
	number   uint64
	run      *run
	index    int
	try      int // 0 for the task's first attempt
	executor *executor
	parts    [][]byte // of a large result
}

// submit begins a run.
func (l *loop) submit(r *run) {
	r.submitted = l.now
	l.lastRun++
	r.id = l.lastRun
	r.cpus = r.job.CPUs
	if r.cpus < 1 {
		r.cpus = config.TaskCPUs.In(l.d.options.Config)
	}
	maxFailures := r.job.MaxFailures
	if maxFailures < 1 {
		maxFailures = config.TaskMaxFailures.In(l.d.options.Config)
	}
	r.sentTo = map[*executor]struct{}{}
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
	tasks := make([]scheduler.Task, len(r.job.Tasks))
	for i := range tasks {
		tasks[i].Hosts = r.job.Tasks[i].Hosts
	}
	l.scheduler.Submit(scheduler.TaskSet{ID: r.id, CPUs: r.cpus, MaxFailures: maxFailures, Tasks: tasks}, l.now)
	l.demand.changed = true
	l.logger.Info("job submitted", "job", r.id, "name", r.job.Name, "tasks", len(tasks))
}

// offer has the scheduler hand out the free cores and launches what it says.
func (l *loop) offer() {
	for _, launch := range l.scheduler.Offer(l.now) {
		e, r := l.executors[launch.Executor], l.runs[launch.TaskSet]
		a := &attempt{number: launch.Attempt, run: r, index: launch.Index, try: launch.AttemptNumber, executor: e}
		l.attempts[a.number] = a
		e.attempts[a.number] = a
		r.running++
		message := l.outgoing(e)
		if _, sent := r.sentTo[e]; !sent {
			r.sentTo[e] = struct{}{}
			message.TaskSets = append(message.TaskSets, &wire.TaskSet{
				Id: r.id, Name: r.job.Name, Function: r.job.Function, Common: r.job.Common,
			})
		}
		message.Launches = append(message.Launches, &wire.LaunchTask{
			Attempt: a.number, TaskSet: r.id, Index: uint32(a.index), AttemptNumber: uint32(a.try),
			Cpus: uint32(r.cpus), Input: r.job.Tasks[a.index].Input,
		})
	}
}

// update takes what an executor says of an attempt that it runs.
func (l *loop) update(a *attempt, update *wire.TaskUpdate) {
	e, r := a.executor, a.run
	state := update.GetState()
	if state == wire.TaskState_TASK_STATE_PART {
		if !r.ended {
			a.parts = append(a.parts, update.GetResult())
		}
		return
	}
	delete(e.attempts, a.number)
	delete(l.attempts, a.number)
	r.running--
	switch state {
	case wire.TaskState_TASK_STATE_FINISHED:
		l.scheduler.Finished(e.id, a.number)
		e.done++
		if !r.ended {
			l.finished(a, update)
		}
	case wire.TaskState_TASK_STATE_KILLED:
		l.scheduler.Killed(e.id, a.number)
	default:
		e.failed++
		l.failed(a, update.GetFailure())
	}
}

// finished hands a result to the run's consumer.
func (l *loop) finished(a *attempt, update *wire.TaskUpdate) {
	r := a.run
	value := update.GetResult()
	if len(a.parts) > 0 {
		value = slices.Concat(append(a.parts, value)...)
	}
	r.done++
	l.history.totals.Done++
	r.results.put(Result{
		Index: a.index, Value: value, AttemptNumber: a.try, ExecutorID: a.executor.id, Host: a.executor.host,
		RunTime: time.Duration(update.GetMetrics().GetRunNanos()),
	})
	if r.done == len(r.job.Tasks) {
		l.endRun(r, nil)
	}
}

// failed has a task tried again, or ends its run.
func (l *loop) failed(a *attempt, failure *wire.Failure) {
	e, r := a.executor, a.run
	failures, exhausted := l.scheduler.Failed(e.id, a.number)
	if r.ended {
		return
	}
	r.failedAttempts++
	l.history.totals.FailedAttempts++
	l.logger.Warn("task failed", "job", r.id, "name", r.job.Name, "task", a.index, "failures", failures,
		"executor", e.id, "host", e.host, "error", failure.GetMessage())
	if exhausted || failure.GetPermanent() {
		l.endRun(r, &TaskError{
			Job: r.job.Name, Index: a.index, Failures: failures, ExecutorID: e.id, Host: e.host,
			Message: failure.GetMessage(), Stack: failure.GetStack(),
		})
	}
}

// cancel ends a run that its caller does not want any more.
func (l *loop) cancel(r *run, cause error) {
	if r.id != 0 && !r.ended {
		l.endRun(r, cause)
	}
}

// endRun ends a run and kills what it still has running.
func (l *loop) endRun(r *run, err error) {
	r.ended = true
	delete(l.runs, r.id)
	l.scheduler.Remove(r.id)
	for e := range r.sentTo {
		message := l.outgoing(e)
		for _, a := range e.attempts {
			if a.run == r {
				message.Kills = append(message.Kills, &wire.KillTask{Attempt: a.number, Reason: fmt.Sprintf("its job ended: %v", err)})
			}
		}
		message.Forget = append(message.Forget, r.id)
	}
	r.sentTo = nil
	l.demand.changed = true

	status := r.status(JobSucceeded)
	ended := l.now
	status.Ended = &ended
	var failure *TaskError
	switch {
	case errors.As(err, &failure):
		status.State = JobFailed
	case err != nil:
		status.State = JobCancelled
	}
	if err != nil {
		status.Error = err.Error()
	}
	l.history.jobs = appendKept(l.history.jobs, status)
	l.logger.Info("job ended", "job", r.id, "name", r.job.Name, "state", status.State, "tasks", len(r.job.Tasks), "done", r.done,
		"failedAttempts", r.failedAttempts, "took", l.now.Sub(r.submitted).Round(time.Millisecond))
	r.results.end(err)
}
