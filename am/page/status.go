package page

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/driver"
)

// StatusPath is the path of the JSON Status, relative to the tracking URL.
const StatusPath = "api/status"

// Status is the state of an application, for its pages and for yarn-submit.
type Status struct {
	Application string                   `json:"application"`
	Name        string                   `json:"name"`
	User        string                   `json:"user"`
	Attempt     int                      `json:"attempt"`
	State       string                   `json:"state"`
	Started     time.Time                `json:"started"`
	Executors   allocator.ExecutorCounts `json:"executors"`
	// Failures has the number of ended executors for each reason, sorted by reason.
	Failures []allocator.FailureCount `json:"failures"`
	// Exclusions are the hosts on which no executor may run, sorted by host.
	Exclusions []allocator.Exclusion `json:"exclusions"`
	// Notes are messages for users, such as "yarn.exclude.nodes leaves no node".
	Notes    []string        `json:"notes,omitempty"`
	Tasks    TaskCounts      `json:"tasks"`
	Locality driver.Locality `json:"locality"`
	TaskSets []TaskSetCounts `json:"taskSets"`
	// Slowest are the running task attempts with the longest run times; see driver.Status.
	Slowest []driver.SlowTask `json:"slowest,omitempty"`
	Details []ExecutorDetail  `json:"executorDetails"`
}

// TaskCounts are the numbers of tasks by state. Failed is the number of failed attempts, not of
// tasks.
type TaskCounts struct {
	Total   int `json:"total"`
	Done    int `json:"done"`
	Running int `json:"running"`
	Failed  int `json:"failed"`
}

// TaskSetCounts are the numbers of tasks of one task set.
type TaskSetCounts struct {
	ID          uint64 `json:"id"` // id of the task set
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Group       string `json:"group,omitempty"` // name of the job group (see bobbin.Group); "" if there is none
	Pool        string `json:"pool,omitempty"`  // scheduling pool; "" if there are no pools
	// Stage is the position of the task set in a job with several task sets; nil if the task set is
	// a whole job.
	Stage      *driver.StageInJob `json:"stage,omitempty"`
	State      string             `json:"state"`
	WaitReason string             `json:"waits,omitempty"` // why no task of the task set is launched, if the reason may last until a user acts; otherwise ""
	TaskCounts
	Counters map[string]int64              `json:"counters,omitempty"`
	Gauges   map[string]driver.GaugeStatus `json:"gauges,omitempty"`
	Metrics  driver.Metrics                `json:"metrics"`
}

// ExecutorDetail is the state of one executor.
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
	Reason        string            `json:"reason,omitempty"` // reason why the executor was lost; "" if it was not
}

// Application contains the parts of a Status that come from neither the driver nor the allocator.
type Application struct {
	ID      string
	Name    string
	User    string
	Attempt int
	Started time.Time
}

// NewStatus combines the parts of an application's status.
func NewStatus(application Application, driver driver.Status, allocated allocator.Status) Status {
	totals := driver.Totals
	status := Status{
		Application: application.ID,
		Name:        application.Name,
		User:        application.User,
		Attempt:     application.Attempt,
		State:       "RUNNING",
		Started:     application.Started,
		Executors:   allocated.Counts,
		Failures:    allocated.Failures,
		Exclusions:  allocated.Exclusions,
		Notes:       slices.Concat(allocated.Notes, driver.Notes),
		Tasks: TaskCounts{
			Total: totals.Done + totals.Running + totals.Waiting, Done: totals.Done, Running: totals.Running, Failed: totals.FailedAttempts,
		},
		Locality: totals.Locality,
		TaskSets: []TaskSetCounts{},
		Slowest:  driver.Slowest,
		Details:  []ExecutorDetail{},
	}
	status.Executors.Running = totals.Executors
	for _, job := range driver.Jobs {
		status.TaskSets = append(status.TaskSets, TaskSetCounts{
			ID: job.ID, Name: job.Name, Description: job.Description, Group: job.Group, Pool: job.Pool, Stage: job.Stage, State: job.State, WaitReason: job.WaitReason,
			TaskCounts: TaskCounts{Total: job.Total, Done: job.Done, Running: job.Running, Failed: job.FailedAttempts},
			Counters:   job.Counters, Gauges: job.Gauges, Metrics: job.Metrics,
		})
	}
	for _, executor := range driver.Executors {
		status.Details = append(status.Details, ExecutorDetail{
			ID: executor.ID, Host: executor.Host, State: executor.State, Cores: executor.Cores, Running: executor.Running,
			Done: executor.Done, Failed: executor.Failed, ResidentBytes: executor.ResidentBytes, LogURLs: executor.LogURLs,
			Registered: executor.Registered, Reason: executor.LossReason,
		})
	}
	return status
}
