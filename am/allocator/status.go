package allocator

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// Status is the state of the allocator for the status page.
type Status struct {
	Counts     ExecutorCounts
	Failures   []FailureCount // sorted by reason
	Exclusions []Exclusion    // sorted by host
	Notes      []string       // problems for users
}

// ExecutorCounts are numbers of executors and their containers.
type ExecutorCounts struct {
	Requested       int `json:"requested"`       // executors that the driver wants
	Pending         int `json:"pending"`         // requested containers that are not allocated
	Allocated       int `json:"allocated"`       // containers of the application: the sum of Launching, Running and Ending
	Launching       int `json:"launching"`       // executors with a container that have not registered with the driver
	Running         int `json:"running"`         // executors that are registered with the driver
	Decommissioning int `json:"decommissioning"` // running executors whose containers YARN will end
	Ending          int `json:"ending"`          // released containers whose release the ResourceManager has not confirmed
	Failed          int `json:"failed"`          // executors that count as failed for executor.maxNumFailures
	MaxFailures     int `json:"maxFailures"`     // value of executor.maxNumFailures
}

// FailureCount is the number of executors that ended for the same reason.
type FailureCount struct {
	Reason          string `json:"reason"` // such as "beyond its memory" or "preempted"
	Count           int    `json:"count"`
	CountsAsFailure bool   `json:"counts"` // the reason counts as a failure for executor.maxNumFailures
	Last            string `json:"last"`   // message about the executor that ended last for this reason
}

// Exclusion is a host on which no executor may run.
type Exclusion struct {
	Host   string     `json:"host"`
	Reason string     `json:"reason"`
	Until  *time.Time `json:"until,omitempty"` // end of the exclusion; nil if it does not expire
}

// status returns the current status. page.NewStatus later replaces Counts.Running by the number of
// executors that the driver reports.
func (s *state) status() Status {
	counts := ExecutorCounts{
		Launching:       s.states[stateLaunching],
		Running:         s.states[stateRegistered] + s.states[stateDecommissioning],
		Decommissioning: s.states[stateDecommissioning],
		Ending:          len(s.releasing),
		Allocated:       s.states[stateLaunching] + s.states[stateRegistered] + s.states[stateDecommissioning] + len(s.releasing),
		Failed:          s.failures.total,
		MaxFailures:     s.failures.max,
	}
	if s.failures.validity > 0 {
		counts.Failed = len(s.failures.recent)
	}
	notes := append(s.excluded.notes(), s.failures.notes()...)
	for _, p := range s.profiles {
		counts.Requested += p.demand.Total
		counts.Pending += p.asks.outstanding()
		if p.backoff.delayedContainers > 0 {
			notes = append(notes, p.backoff.text())
		}
	}
	return Status{Counts: counts, Failures: s.failures.list(), Exclusions: s.excluded.list(), Notes: notes}
}

// publish makes the current status the result of Status, if the status has changed.
func (a *Allocator) publish() {
	if !a.state.changed {
		return
	}
	a.state.changed = false
	status := a.state.status()
	a.published.Lock()
	defer a.published.Unlock()
	if !slices.Equal(status.Notes, a.published.Notes) {
		a.options.Events.Record(&events.NotesChanged{Time: events.At(time.Now()), Source: "am", Notes: status.Notes})
	}
	a.published.Status = status
}

// Status returns the latest published status. The caller must not change its slices. Any goroutine
// may call Status.
func (a *Allocator) Status() Status {
	a.published.Lock()
	defer a.published.Unlock()
	return a.published.Status
}
