package am

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
)

// StatusPath is where the tracking URL serves Status as JSON.
const StatusPath = "api/status"

// Status is the application at one moment, for its page and for yarn-submit.
type Status struct {
	Application string         `json:"application"`
	Name        string         `json:"name"`
	User        string         `json:"user"`
	Attempt     int            `json:"attempt"`
	State       string         `json:"state"`
	Started     time.Time      `json:"started"`
	Executors   ExecutorCounts `json:"executors"`
	// Failures counts the executors that have ended, by reason, in the reasons' order.
	Failures []FailureCount `json:"failures"`
	// Exclusions are the hosts on which no executor is wanted, in their order.
	Exclusions []Exclusion `json:"exclusions"`
	// Notes are what somebody should look at: "yarn.exclude.nodes leaves no node",
	// "job 3 (count) waits: …".
	Notes    []string         `json:"notes,omitempty"`
	Tasks    TaskCounts       `json:"tasks"`
	Locality driver.Locality  `json:"locality"`
	TaskSets []TaskSetCounts  `json:"taskSets"`
	Details  []ExecutorDetail `json:"executorDetails"`
}

// ExecutorCounts counts executors by state.
type ExecutorCounts struct {
	Requested       int `json:"requested"`       // that the driver wants
	Pending         int `json:"pending"`         // asked for and not allocated
	Allocated       int `json:"allocated"`       // containers that the application holds, of all the states below
	Launching       int `json:"launching"`       // allocated, and not registered with the driver
	Running         int `json:"running"`         // registered with the driver
	Decommissioning int `json:"decommissioning"` // of these, those that leave as they will be taken away
	Ending          int `json:"ending"`          // given back, which the ResourceManager has not confirmed
	Failed          int `json:"failed"`          // towards executor.maxNumFailures
	MaxFailures     int `json:"maxFailures"`     // executor.maxNumFailures
}

// FailureCount counts executors that ended for one reason.
type FailureCount struct {
	Reason string `json:"reason"` // "out of memory", "preempted", …
	Count  int    `json:"count"`
	Counts bool   `json:"counts"` // towards executor.maxNumFailures, as the cluster is not to blame
	Last   string `json:"last"`   // what was said of the last one
}

// Exclusion is a host on which no executor is wanted.
type Exclusion struct {
	Host   string     `json:"host"`
	Reason string     `json:"reason"`
	Until  *time.Time `json:"until,omitempty"` // nil for as long as somebody else wants it
}

// TaskCounts counts tasks, and attempts that failed.
type TaskCounts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Failed  int `json:"failed"`
}

// TaskSetCounts are the counts of one task set.
type TaskSetCounts struct {
	ID          uint64 `json:"id"` // of the job
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Group       string `json:"group,omitempty"`
	Pool        string `json:"pool,omitempty"` // "" where there are none
	State       string `json:"state"`
	TaskCounts
	Counters map[string]int64              `json:"counters,omitempty"`
	Gauges   map[string]driver.GaugeStatus `json:"gauges,omitempty"`
	Metrics  driver.Metrics                `json:"metrics"`
}

// ExecutorDetail is one executor.
type ExecutorDetail struct {
	ID            string            `json:"id"`
	Host          string            `json:"host"`
	State         string            `json:"state"`
	Cores         int               `json:"cores"`
	Running       int               `json:"running"`
	Done          int               `json:"done"`
	Failed        int               `json:"failed"`
	ResidentBytes uint64            `json:"residentBytes"`
	LogURLs       map[string]string `json:"logUrls,omitempty"`
	Registered    time.Time         `json:"registered"`
	Reason        string            `json:"reason,omitempty"` // why a lost one was lost
}

// status makes a Status of what the driver and the allocator know.
func (m *applicationMaster) status() Status {
	now, fleet := m.driver.Endpoint.Status(), m.allocator.snapshot()
	status := Status{
		Application: m.ID.Application.String(),
		Name:        m.Spec.Name,
		User:        m.Spec.User,
		Attempt:     int(m.ID.Attempt),
		State:       "RUNNING",
		Started:     m.began,
		Executors:   fleet.counts,
		Failures:    fleet.failures,
		Exclusions:  fleet.exclusions,
		Notes:       slices.Concat(fleet.notes, now.Notes),
		Tasks: TaskCounts{
			Total: now.Totals.Done + now.Totals.Running + now.Totals.Waiting,
			Done:  now.Totals.Done, Running: now.Totals.Running, Failed: now.Totals.FailedAttempts,
		},
		Locality: now.Totals.Locality,
		TaskSets: []TaskSetCounts{},
		Details:  []ExecutorDetail{},
	}
	status.Executors.Running = now.Totals.Executors
	for _, job := range now.Jobs {
		status.TaskSets = append(status.TaskSets, TaskSetCounts{
			ID: job.ID, Name: job.Name, Description: job.Description, Group: job.Group, Pool: job.Pool, State: job.State,
			TaskCounts: TaskCounts{Total: job.Total, Done: job.Done, Running: job.Running, Failed: job.FailedAttempts},
			Counters:   job.Counters, Gauges: job.Gauges, Metrics: job.Metrics,
		})
	}
	for _, executor := range now.Executors {
		status.Details = append(status.Details, ExecutorDetail{
			ID: executor.ID, Host: executor.Host, State: executor.State, Cores: executor.Cores, Running: executor.Running,
			Done: executor.Done, Failed: executor.Failed, ResidentBytes: executor.ResidentBytes, LogURLs: executor.LogURLs,
			Registered: executor.Registered, Reason: executor.LossText,
		})
	}
	return status
}
