package driver

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// kept is how many lost executors and how many ended jobs the status shows.
const kept = 100

// history is what the status shows beyond what is now.
type history struct {
	executors []ExecutorStatus // lost, the latest last
	jobs      []JobStatus      // ended, the latest last
	totals    Totals
}

func (h *history) lost(e *executor, text string, now time.Time) {
	status := e.status()
	status.State, status.Running, status.Lost, status.LossText = ExecutorLost, 0, &now, text
	h.executors = appendKept(h.executors, status)
	h.totals.ExecutorsLost++
}

// explain adds the cluster manager's word to an executor that was lost before.
// The driver knew of one whose end was announced, and why.
func (h *history) explain(id, text string) {
	for i := len(h.executors) - 1; i >= 0; i-- {
		if h.executors[i].ID == id {
			if h.executors[i].Decommission == "" {
				h.executors[i].LossText = text
			}
			return
		}
	}
}

func appendKept[T any](list []T, item T) []T {
	if len(list) >= kept {
		list = slices.Delete(list, 0, len(list)-kept+1)
	}
	return append(list, item)
}

func (e *executor) status() ExecutorStatus {
	status := ExecutorStatus{
		ID: e.id, Host: e.host, DataAddress: e.data, State: ExecutorRegistered, Profile: e.kind.profile.ID, Cores: e.cores, Running: len(e.attempts) - e.ran,
		Done: e.done, Failed: e.failed, ResidentBytes: e.resident, LogURLs: e.logURLs,
		Holding: len(e.holds), Holds: e.shown(), Registered: e.registered, LastHeard: e.lastHeard,
	}
	if e.departure != nil {
		status.State, status.Decommission = ExecutorDecommissioning, e.departure.Reason
		if deadline := e.departure.Deadline; !deadline.IsZero() {
			status.Deadline = &deadline
		}
	}
	return status
}

func (r *runningSet) status(state string) JobStatus {
	return JobStatus{
		ID: r.id, Name: r.job.Name, Description: r.job.Description, Group: r.job.Group, Pool: r.pool, Barrier: r.job.Barrier, State: state,
		Profile: r.kind.profile.ID, Total: len(r.job.Tasks), Done: r.done, Running: r.running, Copies: r.copies, Waits: r.hindrance, Metrics: r.metrics,
		FailedAttempts: r.failedAttempts, Locality: r.locality, Submitted: r.submitted,
	}
}

// status is a snapshot of everything.
func (l *loop) status() Status {
	status := Status{
		ApplicationID: l.d.options.ApplicationID,
		User:          l.d.options.User,
		Started:       l.started,
		Executors:     make([]ExecutorStatus, 0, len(l.executors)+len(l.history.executors)),
		Jobs:          make([]JobStatus, 0, len(l.runs)+len(l.history.jobs)),
		Exclusions:    l.shownExclusions(),
		Notes:         l.notes(),
		Totals:        l.history.totals,
	}
	for _, k := range l.kinds {
		if k.used {
			status.Profiles = append(status.Profiles, k.status())
		}
	}
	for _, e := range l.executors {
		shown := e.status()
		shown.Running -= l.scheduler.QueuedAt(e.id)
		status.Executors = append(status.Executors, shown)
		if e.departure == nil {
			status.Totals.Cores += e.cores
		}
	}
	status.Totals.Decommissioning = len(l.departures.announced)
	slices.SortFunc(status.Executors, func(a, b ExecutorStatus) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID)) // 2 before 10
	})
	status.Totals.Executors = len(l.executors)
	status.Executors = append(status.Executors, l.history.executors...)

	status.Jobs = append(status.Jobs, l.history.jobs...)
	running, metrics := l.runningValues(), l.runningMetrics()
	for _, id := range slices.Sorted(maps.Keys(l.runs)) {
		r := l.runs[id]
		job := r.status(JobRunning)
		job.Counters, job.Gauges = running[r].status()
		job.Metrics = *metrics[r]
		status.Jobs = append(status.Jobs, job)
	}
	demand := l.scheduler.Demand()
	status.Totals.Waiting, status.Totals.Running = demand.WaitingTasks, demand.RunningTasks
	slices.SortStableFunc(status.Jobs, func(a, b JobStatus) int { return cmp.Compare(a.ID, b.ID) })
	return status
}
