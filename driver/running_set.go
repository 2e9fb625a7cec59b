package driver

import (
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// runningSet is a task set that was submitted and has not ended. Submit sets id, spec and
// listener. Only the event loop uses the other fields.
type runningSet struct {
	id          uint64
	spec        TaskSet
	listener    Listener
	flowControl // counts the bytes of results that the listener has received and not released

	profile             *resourceProfile // resource profile of the executors that run the set
	cpus                int              // cores of each task
	resources           map[string]float64
	pool                string // name of the scheduling pool; "" if scheduler.mode is FIFO
	slots               int    // how many of the set's tasks one executor can run at once
	maxFailures         int
	executorsWithShared map[*executor]struct{} // executors that were sent spec.Shared
	submitted           time.Time
	scheduled           bool // whether the set was submitted to the scheduler
	ended               bool

	doneTasks            int // tasks that are done
	runningAttempts      int // attempts that run or are queued at executors
	speculativeCopies    int // speculative attempts launched so far
	failedAttempts       int
	launches             int    // attempts launched so far
	launchesAtLastCheck  int    // value of launches at the latest blockedCheck
	blockedReason        string // why no task is launched, if the reason may last until a person acts; else ""
	locality             Locality
	barrier              *barrier // nil unless this is a barrier set that was launched
	fetches              resultFetches
	values               values // counters and gauges of tasks that are done
	metrics              Metrics
	attemptsWithProgress map[scheduler.AttemptID]*attempt // unfinished attempts that have reported progress
	recordedValues       *events.TaskSetValues            // latest values that were recorded as an event; nil if none were
}

// submit starts a task set. If the set can never run, it ends the set at once.
func (l *loop) submit(set *runningSet) {
	slots := l.configure(set)
	l.history.totals.Jobs++
	l.sets[set.id] = set
	l.record.submitted(set, l.now)
	var err error
	switch {
	case l.stopping:
		err = ErrStopped
	case len(set.spec.Tasks) == 0: // a set without tasks succeeds at once
	default:
		if err = l.checkFits(set, slots); err == nil {
			l.schedule(set)
			return
		}
	}
	l.endSet(set, err)
}

// configure sets the fields of a set from its specification or, for unset fields of the
// specification, from the settings. It returns how many tasks of the set an executor of the
// set's profile can run at once.
func (l *loop) configure(set *runningSet) (slots int) {
	settings := l.d.options.Config
	set.submitted = l.now
	set.cpus = set.spec.CPUs
	if set.cpus < 1 {
		set.cpus = config.TaskCPUs.In(settings)
	}
	set.maxFailures = set.spec.MaxFailures
	if set.maxFailures < 1 {
		set.maxFailures = config.TaskMaxFailures.In(settings)
	}
	if set.resources = set.spec.Resources; set.resources == nil {
		set.resources = config.TaskResources(settings)
	}
	set.profile = l.profileOf(&set.spec)
	set.pool = l.poolOf(&set.spec)
	slots = set.profile.slots(settings, set.cpus, set.resources)
	set.slots = max(1, slots)
	set.fetches = newFetches(settings, &set.spec)
	set.executorsWithShared = map[*executor]struct{}{}
	set.attemptsWithProgress = map[scheduler.AttemptID]*attempt{}
	return slots
}

// checkFits returns an error if no executor can ever run a task of the set, or if the set
// is a barrier set and its tasks can never all run at the same time.
func (l *loop) checkFits(set *runningSet, slots int) error {
	switch cores := set.profile.Cores; {
	case l.isLocal():
	case set.cpus > cores:
		return set.unschedulable(fmt.Sprintf("each takes %d cores, and its executors have %d: lower task.cpus (or what the job says), "+
			"or raise executor.cores (or what the job's resource profile says)", set.cpus, cores))
	case slots < 1:
		return set.unschedulable(fmt.Sprintf("each takes %v of the resources of its executor, and its executors have %v: lower "+
			"task.resource.NAME.amount (or what the job says), or raise executor.resource.NAME.amount (or what the job's resource profile says)",
			formatAmounts(set.resources), formatAmounts(config.TaskResourceNames(l.d.options.Config, set.profile.Resources))))
	}
	if problem := l.whyBarrierNeverFits(set); problem != "" {
		return set.unschedulable(problem)
	}
	return nil
}

// schedule submits a set to the scheduler.
func (l *loop) schedule(set *runningSet) {
	set.profile.beginSet()
	set.scheduled = true
	withPreferences := 0
	for i := range set.spec.Tasks {
		if t := &set.spec.Tasks[i]; len(t.Hosts)+len(t.Executors) > 0 {
			withPreferences++
		}
	}
	priority := set.spec.Priority
	if priority.Job == 0 {
		priority.Job = set.id
	}
	submitted := scheduler.TaskSet{ID: set.id, Name: set.spec.Name, Profile: set.profile.ID,
		Tasks: len(set.spec.Tasks), CPUs: set.cpus, MaxFailures: set.maxFailures,
		Resources: set.resources, Pool: set.spec.Pool, Barrier: set.spec.Barrier, Priority: priority}
	if withPreferences > 0 {
		submitted.Preferences = func(index int) scheduler.Preferences {
			return scheduler.Preferences{Executors: set.spec.Tasks[index].Executors, Hosts: set.spec.Tasks[index].Hosts}
		}
	}
	if err := l.scheduler.Submit(submitted); err != nil {
		l.endSet(set, fmt.Errorf("job %q: %w", set.spec.Name, err))
		return
	}
	l.requester.mayHaveChanged = true
	l.logger.Info("job submitted", "job", set.id, "name", set.spec.Name, "tasks", len(set.spec.Tasks), "preferPlaces", withPreferences,
		"profile", set.profile.ID, "pool", set.pool, "group", set.spec.Group)
}

// endSet ends a task set and kills its attempts. err is nil if all tasks have results.
func (l *loop) endSet(set *runningSet, err error) {
	set.ended = true
	delete(l.sets, set.id)
	if set.scheduled {
		set.profile.endSet(l.now)
	}
	if err != nil {
		l.handleSchedulerEvents(l.scheduler.Cancel(set.id, fmt.Sprintf("the job ended: %v", err)))
	}
	for e := range set.executorsWithShared {
		l.send.forget(e, set)
	}
	set.executorsWithShared = nil
	set.blockedReason = ""
	l.commits.Forget(set.id)
	l.discardBarrierResults(set)
	l.requester.mayHaveChanged = true

	l.values.merge(&set.values)
	l.history.totals.Metrics.merge(&set.metrics)
	status := set.status(jobState(err))
	status.Counters, status.Gauges = set.values.clone()
	ended := l.now
	status.Ended = &ended
	if err != nil {
		status.Error = err.Error()
	}
	l.history.addJob(status)
	l.record.setEnded(set, status.State, err, l.now)
	l.logger.Info("job ended", "job", set.id, "name", set.spec.Name, "state", status.State, "tasks", len(set.spec.Tasks), "done", set.doneTasks,
		"failedAttempts", set.failedAttempts, "took", ended.Sub(set.submitted).Round(time.Millisecond))
	set.listener.Ended(err)
}

// jobState returns the state of a job that ended with err, which may be nil.
func jobState(err error) string {
	var failure *TaskError
	var tooLarge *ResultSizeError
	switch {
	case err == nil:
		return JobStateSucceeded
	case errors.As(err, &failure), errors.As(err, &tooLarge), errors.Is(err, ErrUnschedulable):
		return JobStateFailed
	}
	return JobStateCancelled
}

func (set *runningSet) unschedulable(reason string) error {
	return fmt.Errorf("job %q: %w: %s", set.spec.Name, ErrUnschedulable, reason)
}

// taskError returns the error that ends a set because a task has failed too often.
func (set *runningSet) taskError(index, failures int, e *executor, failure *wire.Failure) *TaskError {
	return &TaskError{
		Job: set.spec.Name, Index: set.spec.indexOf(index), Failures: failures, ExecutorID: e.id, Host: e.host,
		Message: failure.GetMessage(), Stack: failure.GetStack(),
	}
}
