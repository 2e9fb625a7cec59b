package driver

import (
	"time"

	"github.com/bobbin-yarn/bobbin/scheduler"
)

// Status is a driver at one moment.
type Status struct {
	ApplicationID string           `json:"applicationId"`
	User          string           `json:"user"`
	Started       time.Time        `json:"started"`
	Executors     []ExecutorStatus `json:"executors"` // those that live by id, then the latest of the lost ones
	Profiles      []ProfileStatus  `json:"profiles"`  // in use, in the order of their ids
	Jobs          []JobStatus      `json:"jobs"`      // in the order in which they were submitted; of the ended ones the latest
	// Exclusions are the executors and nodes that no job uses for now.
	Exclusions []ExclusionStatus `json:"exclusions,omitempty"`
	// Notes are what somebody should look at: "job 3 (count) waits: …".
	Notes  []string `json:"notes,omitempty"`
	Totals Totals   `json:"totals"`
}

// States of an executor.
const (
	ExecutorRegistered = "registered"
	// ExecutorDecommissioning gets no further task and leaves when it has none.
	ExecutorDecommissioning = "decommissioning"
	ExecutorLost            = "lost"
)

// ExecutorStatus is one executor.
type ExecutorStatus struct {
	ID            string `json:"id"`
	Host          string `json:"host"`
	DataAddress   string `json:"dataAddress,omitempty"` // host:port at which it serves its blocks
	State         string `json:"state"`                 // one of the Executor constants
	Profile       int    `json:"profile"`               // the id of its ProfileStatus
	Cores         int    `json:"cores"`
	Running       int    `json:"running"` // tasks
	Done          int    `json:"done"`
	Failed        int    `json:"failed"`
	ResidentBytes uint64 `json:"residentBytes"`
	// Holding is under how many keys it has something that others may want, Holds
	// the first of them.
	Holding    int               `json:"holding,omitempty"`
	Holds      []string          `json:"holds,omitempty"`
	LogURLs    map[string]string `json:"logUrls,omitempty"`
	Registered time.Time         `json:"registered"`
	LastHeard  time.Time         `json:"lastHeard"`
	Lost       *time.Time        `json:"lost,omitempty"`
	LossText   string            `json:"lossText,omitempty"`
	// Decommission is why the executor is or was being taken away, and Deadline
	// when it is at the latest, where that is known.
	Decommission string     `json:"decommission,omitempty"`
	Deadline     *time.Time `json:"deadline,omitempty"`
}

// ProfileStatus is the executors of one resource profile.
type ProfileStatus struct {
	ID            int              `json:"id"` // 0 for the settings'
	MemoryBytes   int64            `json:"memoryBytes"`
	OverheadBytes int64            `json:"overheadBytes"`
	Cores         int              `json:"cores"`
	Resources     map[string]int64 `json:"resources,omitempty"` // by YARN's type
	NodeLabel     string           `json:"nodeLabel,omitempty"`
	Opportunistic bool             `json:"opportunistic,omitempty"`
	Wanted        int              `json:"wanted"` // executors
}

func (k *kind) status() ProfileStatus {
	p := k.profile
	return ProfileStatus{
		ID: p.ID, MemoryBytes: int64(p.Memory), OverheadBytes: int64(p.Overhead), Cores: p.Cores, Resources: p.Resources,
		NodeLabel: p.NodeLabel, Opportunistic: p.Opportunistic, Wanted: k.total(),
	}
}

// States of a job.
const (
	JobRunning   = "running"
	JobSucceeded = "succeeded"
	JobFailed    = "failed"
	JobCancelled = "cancelled"
)

// JobStatus is one run of a task set.
type JobStatus struct {
	ID             uint64     `json:"id"`
	Name           string     `json:"name"`
	Description    string     `json:"description,omitempty"`
	Group          string     `json:"group,omitempty"`
	Pool           string     `json:"pool,omitempty"` // "" where there are none
	Barrier        bool       `json:"barrier,omitempty"`
	State          string     `json:"state"`   // one of the Job constants
	Profile        int        `json:"profile"` // of its executors
	Total          int        `json:"total"`   // tasks
	Done           int        `json:"done"`
	Running        int        `json:"running"`
	Copies         int        `json:"copies,omitempty"` // of tasks that took long
	FailedAttempts int        `json:"failedAttempts"`
	Waits          string     `json:"waits,omitempty"` // why nothing of it is launched, where that is worth a look
	Locality       Locality   `json:"locality"`
	Metrics        Metrics    `json:"metrics"`
	Submitted      time.Time  `json:"submitted"`
	Ended          *time.Time `json:"ended,omitempty"`
	Error          string     `json:"error,omitempty"`
	// Counters are sums over tasks that are done, and over attempts that run as far
	// as they have told; of an ended job over its tasks only.
	Counters map[string]int64 `json:"counters,omitempty"`
	// Gauges are as attempts that run have told.
	Gauges map[string]GaugeStatus `json:"gauges,omitempty"`
}

// GaugeStatus is a gauge over several attempts.
type GaugeStatus struct {
	Attempts int   `json:"attempts"` // that run and have set it, whose values the next three are of
	Sum      int64 `json:"sum"`
	Min      int64 `json:"min"`
	Max      int64 `json:"max"`
	Peak     int64 `json:"peak"` // the largest that an attempt, running or ended, has told
}

// Locality counts launched attempts by how close to their data they ran.
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

// Totals are over the driver's whole life, but for what is now.
type Totals struct {
	Executors       int      `json:"executors"`       // now
	Decommissioning int      `json:"decommissioning"` // executors of these, now
	Cores           int      `json:"cores"`           // now, of those that get tasks
	Running         int      `json:"running"`         // tasks, now
	Waiting         int      `json:"waiting"`         // tasks, now
	Jobs            int      `json:"jobs"`
	Done            int      `json:"done"` // tasks
	FailedAttempts  int      `json:"failedAttempts"`
	ExecutorsLost   int      `json:"executorsLost"`
	Locality        Locality `json:"locality"`
}

// Progress is how much of the known work is done, 0 to 1.
func (t Totals) Progress() float32 {
	all := t.Done + t.Running + t.Waiting
	if all == 0 {
		return 0
	}
	return float32(t.Done) / float32(all)
}
