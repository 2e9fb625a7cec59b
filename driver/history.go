package driver

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// maxRetained is the largest number of lost executors, and of ended jobs, that the status shows.
const maxRetained = 100

// history contains the status of lost executors and ended jobs, and totals.
type history struct {
	executors []ExecutorStatus // lost executors, the latest last
	jobs      []JobStatus      // ended jobs, the latest last
	totals    Totals
}

// addExecutor adds an executor that was lost.
func (h *history) addExecutor(status ExecutorStatus, text string, now time.Time) {
	status.State, status.Running, status.Lost, status.LossReason = ExecutorStateLost, 0, &now, text
	h.executors = appendLatest(h.executors, status)
	h.totals.ExecutorsLost++
}

// setLossReason replaces the reason of an executor's loss by the reason that the cluster manager
// reported, except if the executor was being decommissioned.
func (h *history) setLossReason(id, text string) {
	for i := len(h.executors) - 1; i >= 0; i-- {
		if h.executors[i].ID == id {
			if h.executors[i].Decommission == "" {
				h.executors[i].LossReason = text
			}
			return
		}
	}
}

func (h *history) addJob(status JobStatus) { h.jobs = appendLatest(h.jobs, status) }

// appendLatest appends an item. If the list then has more than maxRetained items, it removes the
// first one.
func appendLatest[T any](list []T, item T) []T {
	if len(list) >= maxRetained {
		list = slices.Delete(list, 0, len(list)-maxRetained+1)
	}
	return append(list, item)
}

// Progress returns the fraction of the known tasks that are done, from 0 to 1. The value was
// computed in the event loop's latest turn. Progress does not block.
func (d *Driver) Progress() float32 { return math.Float32frombits(d.progress.Load()) }

func (l *loop) storeProgress() {
	demand := l.scheduler.Demand()
	totals := Totals{Done: l.history.totals.Done, Running: demand.RunningTasks, Waiting: demand.WaitingTasks}
	l.d.progress.Store(math.Float32bits(totals.Progress()))
}

func (e *executor) status() ExecutorStatus {
	status := ExecutorStatus{
		ID: e.id, Host: e.host, DataAddress: e.dataAddress, State: ExecutorStateRegistered, Profile: e.profile.ID, Cores: e.cores, Running: len(e.attempts) - e.storedResults,
		Done: e.succeededAttempts, Failed: e.failedAttempts, ResidentBytes: e.residentBytes, LogURLs: e.logURLs,
		HeldKeyCount: len(e.held.keys), HeldKeys: e.held.shown(), Registered: e.registered, LastHeard: e.lastHeard,
	}
	if e.decommission != nil {
		status.State, status.Decommission = ExecutorStateDecommissioning, e.decommission.Reason
		if deadline := e.decommission.Deadline; !deadline.IsZero() {
			status.Deadline = &deadline
		}
	}
	return status
}

func (set *runningSet) status(state string) JobStatus {
	return JobStatus{
		ID: set.id, Name: set.spec.Name, Description: set.spec.Description, Group: set.spec.Group, Pool: set.pool, Stage: set.spec.StageInJob, Barrier: set.spec.Barrier, State: state,
		Profile: set.profile.ID, Total: len(set.spec.Tasks), Done: set.doneTasks, Running: set.runningAttempts, SpeculativeCopies: set.speculativeCopies, WaitReason: set.blockedReason, Metrics: set.metrics,
		FailedAttempts: set.failedAttempts, Locality: set.locality, Submitted: set.submitted,
	}
}

func (l *loop) status() Status {
	status := Status{
		ApplicationID: l.d.options.ApplicationID,
		User:          l.d.options.User,
		Started:       l.started,
		Executors:     make([]ExecutorStatus, 0, len(l.executors)+len(l.history.executors)),
		Jobs:          make([]JobStatus, 0, len(l.sets)+len(l.history.jobs)),
		Exclusions:    l.exclusions.status(),
		Notes:         l.notes(),
		Totals:        l.history.totals,
	}
	for _, p := range l.profiles.list {
		if p.inUse {
			status.Profiles = append(status.Profiles, p.status())
		}
	}
	for _, e := range l.executors {
		shown := e.status()
		shown.Running -= l.scheduler.QueuedAt(e.id)
		status.Executors = append(status.Executors, shown)
		if e.decommission == nil {
			status.Totals.Cores += e.cores
		}
	}
	status.Totals.Decommissioning = len(l.decommissions.executors)
	slices.SortFunc(status.Executors, func(a, b ExecutorStatus) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID)) // id 2 before id 10
	})
	status.Totals.Executors = len(l.executors)
	status.Executors = append(status.Executors, l.history.executors...)

	status.Jobs = append(status.Jobs, l.history.jobs...)
	all := &values{}
	all.merge(&l.values)
	for _, id := range slices.Sorted(maps.Keys(l.sets)) {
		set := l.sets[id]
		job := set.status(JobStateRunning)
		values, metrics := set.currentValues()
		job.Counters, job.Gauges = values.clone()
		job.Metrics = metrics
		status.Jobs = append(status.Jobs, job)
		status.Totals.Metrics.merge(&set.metrics)
		all.addCounters(set.values.counters)
		for name, gauge := range values.gauges {
			all.addGauge(name, gauge)
		}
	}
	status.Values = Values{Counters: all.counters, Gauges: all.gauges}
	demand := l.scheduler.Demand()
	status.Totals.Waiting, status.Totals.Running = demand.WaitingTasks, demand.RunningTasks
	slices.SortStableFunc(status.Jobs, func(a, b JobStatus) int { return cmp.Compare(a.ID, b.ID) })
	return status
}
