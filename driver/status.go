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
	Profiles      []ProfileStatus  `json:"profiles"`  // profiles that are in use, sorted by id
	Jobs          []JobStatus      `json:"jobs"`      // all running jobs and the 100 that ended last, sorted by id
	// Exclusions are executors and nodes that get no tasks for a while after failures.
	Exclusions []ExclusionStatus `json:"exclusions,omitempty"`
	// Notes are problems that a person should look at: "job 3 (count) waits: …".
	Notes  []string `json:"notes,omitempty"`
	Totals Totals   `json:"totals"`
	// Slowest are the 5 running attempts that were launched first, of those that
	// Options.Events has recorded.
	Slowest []SlowTask `json:"slowest,omitempty"`
	// Costs are texts that say what cost the most time. Only a driver that has ended the
	// application and sends its status to an ApplicationMaster sets them.
	Costs []string `json:"costs,omitempty"`
	// Values are the program's counters and gauges. Unlike in Driver.Values, the counters do
	// not include running attempts, so that a counter does not decrease if one of these fails.
	Values Values `json:"values"`
}

// States of an executor.
const (
	ExecutorStateRegistered = "registered"
	// ExecutorStateDecommissioning executors get no further task and stop when they run none.
	ExecutorStateDecommissioning = "decommissioning"
	ExecutorStateLost            = "lost"
)

// ExecutorStatus describes one executor.
type ExecutorStatus struct {
	ID            string `json:"id"`
	Host          string `json:"host"`
	DataAddress   string `json:"dataAddress,omitempty"` // host:port at which it serves its blocks
	State         string `json:"state"`                 // one of the ExecutorState constants
	Profile       int    `json:"profile"`               // id of its resource profile
	Cores         int    `json:"cores"`
	Running       int    `json:"running"` // tasks that it runs now
	Done          int    `json:"done"`
	Failed        int    `json:"failed"`
	ResidentBytes uint64 `json:"residentBytes"`
	// HeldKeyCount is the number of keys under which the executor holds data
	// (Task.Hold). HeldKeys lists the first 20 of these keys, in alphabetical order.
	HeldKeyCount int               `json:"holding,omitempty"`
	HeldKeys     []string          `json:"holds,omitempty"`
	LogURLs      map[string]string `json:"logUrls,omitempty"`
	Registered   time.Time         `json:"registered"`
	LastHeard    time.Time         `json:"lastHeard"`
	Lost         *time.Time        `json:"lost,omitempty"`
	LossReason   string            `json:"lossText,omitempty"`
	// Decommission is why the executor is or was being decommissioned; "" if it never
	// was. Deadline is when it is killed at the latest; nil if that is not known.
	Decommission string     `json:"decommission,omitempty"`
	Deadline     *time.Time `json:"deadline,omitempty"`
}

// ProfileStatus describes one resource profile and how many of its executors are wanted.
type ProfileStatus struct {
	ID            int              `json:"id"` // 0 for the default profile
	MemoryBytes   int64            `json:"memoryBytes"`
	OverheadBytes int64            `json:"overheadBytes"`
	Cores         int              `json:"cores"`
	Resources     map[string]int64 `json:"resources,omitempty"` // amounts by the name of YARN's resource type
	NodeLabel     string           `json:"nodeLabel,omitempty"`
	Opportunistic bool             `json:"opportunistic,omitempty"`
	Wanted        int              `json:"wanted"` // how many executors are wanted
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
	Pool              string      `json:"pool,omitempty"`  // name of its scheduling pool; "" without pools
	Stage             *StageInJob `json:"stage,omitempty"` // see TaskSet.StageInJob
	Barrier           bool        `json:"barrier,omitempty"`
	State             string      `json:"state"`   // one of the JobState constants
	Profile           int         `json:"profile"` // id of the resource profile of its executors
	Total             int         `json:"total"`   // number of tasks
	Done              int         `json:"done"`
	Running           int         `json:"running"`
	SpeculativeCopies int         `json:"copies,omitempty"` // speculative attempts launched so far
	FailedAttempts    int         `json:"failedAttempts"`
	WaitReason        string      `json:"waits,omitempty"` // why no task is launched, if the reason may last until a person acts
	Locality          Locality    `json:"locality"`
	Metrics           Metrics     `json:"metrics"`
	Submitted         time.Time   `json:"submitted"`
	Ended             *time.Time  `json:"ended,omitempty"`
	Error             string      `json:"error,omitempty"`
	// Counters are sums over done tasks and, as of the last heartbeats, running attempts.
	Counters map[string]int64 `json:"counters,omitempty"`
	// Gauges are the gauges of running attempts, as of their latest heartbeats.
	// Their peaks include tasks that are done.
	Gauges map[string]GaugeStatus `json:"gauges,omitempty"`
}

// GaugeStatus summarizes the values of one gauge in several attempts.
type GaugeStatus struct {
	Attempts int   `json:"attempts"` // running attempts that have set it; Sum, Min and Max are over their values
	Sum      int64 `json:"sum"`
	Min      int64 `json:"min"`
	Max      int64 `json:"max"`
	Peak     int64 `json:"peak"` // the largest value of any attempt, running or ended
}

// SlowTask is a task attempt that runs.
type SlowTask struct {
	Set        uint64 `json:"set"`  // id of its task set
	Name       string `json:"name"` // of the task set
	Task       uint32 `json:"task"` // its index
	Number     uint32 `json:"number"`
	Executor   string `json:"executor"`
	Host       string `json:"host"`
	RunMillis  int64  `json:"runMillis"`            // since its launch
	MeanMillis int64  `json:"meanMillis,omitempty"` // mean time of the task set's ended attempts; 0 if none has ended
}

// maxSlowest is how many elements Status.Slowest has at most.
const maxSlowest = 5

// slowest returns the maxSlowest attempts of a snapshot that have run longest; nil if the
// snapshot is nil.
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

// Totals are sums over the driver's lifetime, except the current values marked "now".
type Totals struct {
	Executors       int      `json:"executors"`       // registered executors, now
	Decommissioning int      `json:"decommissioning"` // how many of these executors are being decommissioned, now
	Cores           int      `json:"cores"`           // cores of executors that are not being decommissioned, now
	Running         int      `json:"running"`         // running tasks, now
	Waiting         int      `json:"waiting"`         // waiting tasks, now
	Jobs            int      `json:"jobs"`
	Done            int      `json:"done"` // tasks that are done
	FailedAttempts  int      `json:"failedAttempts"`
	ExecutorsLost   int      `json:"executorsLost"`
	Locality        Locality `json:"locality"`
	Metrics         Metrics  `json:"metrics"` // of tasks that are done
}

// KeyValues returns what a summary line says of tasks: pairs such as "tasks=8", separated by spaces.
func (t Totals) KeyValues() string {
	return fmt.Sprintf("task_sets=%d tasks=%d failed_attempts=%d process_local=%d node_local=%d no_pref=%d rack_local=%d any=%d",
		t.Jobs, t.Done, t.FailedAttempts, t.Locality.ProcessLocal, t.Locality.NodeLocal, t.Locality.NoPref, t.Locality.RackLocal, t.Locality.Any)
}

// CostsKeyValue returns what a summary line says of costs: " costs=" and the quoted costs,
// one a line; "" without any.
func CostsKeyValue(costs []string) string {
	if len(costs) == 0 {
		return ""
	}
	return " costs=" + strconv.Quote(strings.Join(costs, "\n"))
}

// Progress returns the fraction of the known tasks that are done, 0 to 1.
func (t Totals) Progress() float32 {
	all := t.Done + t.Running + t.Waiting
	if all == 0 {
		return 0
	}
	return float32(t.Done) / float32(all)
}
