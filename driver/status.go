package driver

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// Status is a snapshot of a driver.
type Status struct {
	ApplicationID string           `json:"applicationId"`
	User          string           `json:"user"`
	Started       time.Time        `json:"started"`
	Executors     []ExecutorStatus `json:"executors"` // registered executors, sorted by id, then the 100 that were lost last
	Profiles      []ProfileStatus  `json:"profiles"`  // profiles in use, sorted by id
	Jobs          []JobStatus      `json:"jobs"`      // all running jobs and the 100 that ended last, sorted by id
	// Exclusions are the executors and nodes that are excluded for some time after failures.
	Exclusions []ExclusionStatus `json:"exclusions,omitempty"`
	// Notes are problems that may need action of a person, such as "job 3 (count) waits: …".
	Notes  []string `json:"notes,omitempty"`
	Totals Totals   `json:"totals"`
	// Slowest are the 5 running attempts that were launched first, among the attempts that
	// Options.Events has recorded.
	Slowest []SlowTask `json:"slowest,omitempty"`
	// Costs are texts about what took the most time. They are set only in the final status that
	// a driver in client mode sends to its ApplicationMaster.
	Costs []string `json:"costs,omitempty"`
	// Values are the program's counters and gauges. Unlike in Driver.Values, the counters
	// exclude running attempts, so that a counter does not decrease if a running attempt fails.
	Values Values `json:"values"`
}

// States of an executor.
const (
	ExecutorStateRegistered = "registered"
	// ExecutorStateDecommissioning means that no further tasks are launched on the executor, and
	// that the executor is stopped when it runs none.
	ExecutorStateDecommissioning = "decommissioning"
	ExecutorStateLost            = "lost"
)

// ExecutorStatus describes one executor.
type ExecutorStatus struct {
	ID            string `json:"id"`
	Host          string `json:"host"`
	DataAddress   string `json:"dataAddress,omitempty"` // host:port from which other executors fetch its blocks
	State         string `json:"state"`                 // one of the ExecutorState constants
	Profile       int    `json:"profile"`               // id of its resource profile
	Cores         int    `json:"cores"`
	Running       int    `json:"running"` // attempts that it runs or has queued
	Done          int    `json:"done"`
	Failed        int    `json:"failed"`
	ResidentBytes uint64 `json:"residentBytes"`
	// HeldKeyCount is the number of keys of held data on the executor (Task.Hold). HeldKeys
	// lists the first 20 of these keys, in alphabetical order.
	HeldKeyCount int               `json:"holding,omitempty"`
	HeldKeys     []string          `json:"holds,omitempty"`
	LogURLs      map[string]string `json:"logUrls,omitempty"`
	Registered   time.Time         `json:"registered"`
	LastHeard    time.Time         `json:"lastHeard"`
	Lost         *time.Time        `json:"lost,omitempty"`
	LossReason   string            `json:"lossText,omitempty"`
	// Decommission is the reason why the executor is or was decommissioned; "" if it never was.
	// Deadline is the latest time at which it is killed; nil if there is no known deadline.
	Decommission string     `json:"decommission,omitempty"`
	Deadline     *time.Time `json:"deadline,omitempty"`
}

// ProfileStatus describes one resource profile and how many of its executors are requested.
type ProfileStatus struct {
	ID            int              `json:"id"` // 0 for the default profile
	MemoryBytes   int64            `json:"memoryBytes"`
	OverheadBytes int64            `json:"overheadBytes"`
	Cores         int              `json:"cores"`
	Resources     map[string]int64 `json:"resources,omitempty"` // amounts by the name of YARN's resource type
	NodeLabel     string           `json:"nodeLabel,omitempty"`
	Opportunistic bool             `json:"opportunistic,omitempty"`
	Wanted        int              `json:"wanted"` // number of requested executors
}

func (p *resourceProfile) status() ProfileStatus {
	return ProfileStatus{
		ID: p.ID, MemoryBytes: int64(p.Memory), OverheadBytes: int64(p.Overhead), Cores: p.Cores, Resources: p.Resources,
		NodeLabel: p.NodeLabel, Opportunistic: p.Opportunistic, Wanted: p.total(),
	}
}

// States of a job.
const (
	JobStateRunning   = "running"
	JobStateSucceeded = "succeeded"
	JobStateFailed    = "failed"
	JobStateCancelled = "cancelled"
)

// JobStatus describes one job, which is one task set.
type JobStatus struct {
	ID                uint64      `json:"id"`
	Name              string      `json:"name"`
	Description       string      `json:"description,omitempty"`
	Group             string      `json:"group,omitempty"`
	Pool              string      `json:"pool,omitempty"`  // name of its scheduling pool; "" if scheduler.mode is FIFO
	Stage             *StageInJob `json:"stage,omitempty"` // nil if the set is a job of its own; see TaskSet.StageInJob
	Barrier           bool        `json:"barrier,omitempty"`
	State             string      `json:"state"`   // one of the JobState constants
	Profile           int         `json:"profile"` // id of the resource profile of its executors
	Total             int         `json:"total"`   // number of tasks
	Done              int         `json:"done"`
	Running           int         `json:"running"`
	SpeculativeCopies int         `json:"copies,omitempty"` // speculative attempts launched so far
	FailedAttempts    int         `json:"failedAttempts"`
	WaitReason        string      `json:"waits,omitempty"` // why no task is launched, if the reason may last until a person acts; else ""
	Locality          Locality    `json:"locality"`
	Metrics           Metrics     `json:"metrics"`
	Submitted         time.Time   `json:"submitted"`
	Ended             *time.Time  `json:"ended,omitempty"`
	Error             string      `json:"error,omitempty"`
	// Counters are sums over done tasks and running attempts, the latter as of their latest
	// heartbeats.
	Counters map[string]int64 `json:"counters,omitempty"`
	// Gauges summarize the gauges of running attempts, as of their latest heartbeats. Their
	// peaks also include done tasks.
	Gauges map[string]GaugeStatus `json:"gauges,omitempty"`
}

// GaugeStatus summarizes the values of one gauge in several attempts.
type GaugeStatus struct {
	Attempts int   `json:"attempts"` // number of running attempts that have set the gauge; Sum, Min and Max are over their values
	Sum      int64 `json:"sum"`
	Min      int64 `json:"min"`
	Max      int64 `json:"max"`
	Peak     int64 `json:"peak"` // the largest value of any attempt, running or ended
}

// SlowTask is an attempt that has run for long; see Status.Slowest.
type SlowTask struct {
	Set        uint64 `json:"set"`  // id of its task set
	Name       string `json:"name"` // name of the task set
	Task       uint32 `json:"task"` // index of the task
	Number     uint32 `json:"number"`
	Executor   string `json:"executor"`
	Host       string `json:"host"`
	RunMillis  int64  `json:"runMillis"`            // time since its launch
	MeanMillis int64  `json:"meanMillis,omitempty"` // mean run time of the task set's ended attempts; 0 if none has ended
}

// maxSlowest is the largest number of elements of Status.Slowest.
const maxSlowest = 5

// slowest returns the maxSlowest running attempts of a snapshot that were launched first; nil if
// the snapshot is nil.
func slowest(s *events.Snapshot, now time.Time) []SlowTask {
	if s == nil {
		return nil
	}
	var slow []SlowTask
	running := s.RunningAttempts()
	for _, a := range running[:min(len(running), maxSlowest)] {
		task := SlowTask{Set: a.Set, Task: a.Task, Number: a.Number, RunMillis: max(0, now.Sub(a.Start.Time()).Milliseconds())}
		if _, set := s.Set(a.Set); set != nil {
			task.Name, task.MeanMillis = set.Name, set.Counts.MeanTook().Milliseconds()
		}
		if e := s.Executor(a.Executor); e != nil {
			task.Executor, task.Host = e.ID, e.Host
		}
		slow = append(slow, task)
	}
	return slow
}

// Locality counts launched attempts by the level of locality at which they ran.
type Locality struct {
	ProcessLocal int `json:"processLocal"`
	NodeLocal    int `json:"nodeLocal"`
	NoPref       int `json:"noPref"`
	RackLocal    int `json:"rackLocal"`
	Any          int `json:"any"`
}

func (l *Locality) count(level scheduler.Locality) {
	switch level {
	case scheduler.ProcessLocal:
		l.ProcessLocal++
	case scheduler.NodeLocal:
		l.NodeLocal++
	case scheduler.NoPref:
		l.NoPref++
	case scheduler.RackLocal:
		l.RackLocal++
	default:
		l.Any++
	}
}

// Totals are sums over the driver's lifetime. Fields marked "now" are current values.
type Totals struct {
	Executors       int      `json:"executors"`       // registered executors, now
	Decommissioning int      `json:"decommissioning"` // how many of these executors are being decommissioned, now
	Cores           int      `json:"cores"`           // cores of executors that are not being decommissioned, now
	Running         int      `json:"running"`         // attempts that have not ended, now
	Waiting         int      `json:"waiting"`         // tasks that wait to be launched, now
	Jobs            int      `json:"jobs"`
	Done            int      `json:"done"` // tasks that have results
	FailedAttempts  int      `json:"failedAttempts"`
	ExecutorsLost   int      `json:"executorsLost"`
	Locality        Locality `json:"locality"`
	Metrics         Metrics  `json:"metrics"` // sums over tasks that have results
}

// KeyValues returns the part of a summary line about tasks: pairs such as "tasks=8", separated
// by spaces.
func (t Totals) KeyValues() string {
	return fmt.Sprintf("task_sets=%d tasks=%d failed_attempts=%d process_local=%d node_local=%d no_pref=%d rack_local=%d any=%d",
		t.Jobs, t.Done, t.FailedAttempts, t.Locality.ProcessLocal, t.Locality.NodeLocal, t.Locality.NoPref, t.Locality.RackLocal, t.Locality.Any)
}

// CostsKeyValue returns the part of a summary line about costs: " costs=" and the quoted costs,
// one per line; "" if there are no costs.
func CostsKeyValue(costs []string) string {
	if len(costs) == 0 {
		return ""
	}
	return " costs=" + strconv.Quote(strings.Join(costs, "\n"))
}

// Progress returns the fraction of the known tasks that are done, from 0 to 1.
func (t Totals) Progress() float32 {
	all := t.Done + t.Running + t.Waiting
	if all == 0 {
		return 0
	}
	return float32(t.Done) / float32(all)
}
