package events

import "time"

// Event is something that happened in an application. Each type of event is a struct that
// embeds Time. The JSON of the struct is an object in the event log.
type Event interface {
	// Type returns the name of the type in the event log.
	Type() string
	// When returns the time of the event, by the driver's clock.
	When() time.Time
}

// Time is the time of an event. Event types embed it.
type Time struct {
	Time time.Time `json:"time"`
}

// When implements Event.
func (t Time) When() time.Time { return t.Time }

// At returns t as a Time, for composite literals of events.
func At(t time.Time) Time { return Time{Time: t} }

// ApplicationStarted is the first event of an application attempt.
type ApplicationStarted struct {
	Time
	ID       string    `json:"id"`
	Attempt  int       `json:"attempt"` // number of YARN's application attempt, from 1
	Name     string    `json:"name"`
	User     string    `json:"user"`
	Master   string    `json:"master"`         // value of the setting "master", for example yarn
	Mode     string    `json:"mode"`           // deploy mode: "cluster", "client" or "local"
	Host     string    `json:"host,omitempty"` // where the driver runs
	Version  string    `json:"version"`        // version of bobbin
	Go       string    `json:"go"`             // version of Go
	Settings []Setting `json:"settings"`       // the settings that differ from their defaults, sorted by key
}

// Setting is the value of a setting, with its source.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`  // redacted if it may be a secret
	Source string `json:"source"` // where it was set, as returned by config.Config.Source
}

// ApplicationEnded is the last event of an application attempt.
type ApplicationEnded struct {
	Time
	State string `json:"state"` // StateSucceeded, StateFailed or StateKilled
	Error string `json:"error,omitempty"`
}

// States of applications, jobs, task sets and steps.
const (
	StateRunning   = "running"
	StateSucceeded = "succeeded"
	StateFailed    = "failed"
	StateCancelled = "cancelled" // a job or task set that was cancelled
	StateKilled    = "killed"    // an application whose driver was stopped before the application ended
	StateWaiting   = "waiting"   // a step that has not started
	StateSkipped   = "skipped"   // a step that never starts, because a step on which it depends failed or was skipped
)

// ProfileAdded describes a resource profile. It is recorded when a job first uses the profile.
type ProfileAdded struct {
	Time
	Profile       int              `json:"profile"` // the profile's id; 0 for the default profile
	MemoryBytes   int64            `json:"memoryBytes"`
	OverheadBytes int64            `json:"overheadBytes,omitempty"`
	Cores         int              `json:"cores"`
	Resources     map[string]int64 `json:"resources,omitempty"`
}

// ExecutorsRequested sets the target number of executors of a profile.
type ExecutorsRequested struct {
	Time
	Profile int `json:"profile"`
	Wanted  int `json:"wanted"` // including the executors that run already
}

// ExecutorAllocated means that the cluster has allocated a container for an executor.
type ExecutorAllocated struct {
	Time
	ID        string `json:"id"`
	Host      string `json:"host"`
	Container string `json:"container,omitempty"`
	Profile   int    `json:"profile"`
}

// ExecutorLaunched means that a node has accepted the request to start an executor's process.
type ExecutorLaunched struct {
	Time
	ID string `json:"id"`
}

// ExecutorRegistered means that an executor has registered with the driver.
type ExecutorRegistered struct {
	Time
	// Number identifies this registration in rows. An executor that registers again after a
	// lost connection gets another Number, but has the same ID.
	Number  uint32            `json:"number"`
	ID      string            `json:"id"`
	Host    string            `json:"host"`
	Cores   int               `json:"cores"`
	Profile int               `json:"profile"`
	LogURLs map[string]string `json:"logUrls,omitempty"`
}

// ExecutorDecommissioned means that an executor gets no further tasks, because it will end
// soon. Deadline is the time at which it ends; zero if the time is unknown.
type ExecutorDecommissioned struct {
	Time
	ID       string    `json:"id"`
	Reason   string    `json:"reason"`
	Deadline time.Time `json:"deadline,omitzero"`
}

// ExecutorLost means that an executor has ended or is unreachable, for any reason. If the
// reason becomes known only later, a second ExecutorLost with this reason is recorded.
type ExecutorLost struct {
	Time
	ID     string `json:"id"`
	Reason string `json:"reason"`
	Failed bool   `json:"failed,omitempty"` // the loss is a failure, which the tasks on the executor may have caused
	// Expected is true if the executor was told to stop.
	Expected bool `json:"expected,omitempty"`
}

// Excluded means that an executor or a node gets no tasks, because tasks have failed on it.
type Excluded struct {
	Time
	Executor string    `json:"executor,omitempty"` // "" if the node is excluded
	Host     string    `json:"host"`
	Set      uint64    `json:"set,omitempty"` // the task set from which the executor or node is excluded; 0 means all task sets
	Failures int       `json:"failures"`
	Until    time.Time `json:"until,omitzero"`
}

// ExclusionEnded means that an exclusion from all task sets has ended.
type ExclusionEnded struct {
	Time
	Executor string `json:"executor,omitempty"`
	Host     string `json:"host"`
}

// JobSubmitted is the beginning of a job: a Func.Run, or an action on a data set.
type JobSubmitted struct {
	Time
	Job         uint64 `json:"job"` // the job's id; jobs, stages and task sets share one sequence of ids
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Group       string `json:"group,omitempty"`
	Pool        string `json:"pool,omitempty"`
	// Stages are the stages of a data-set job, parents first. They are empty for a Func.Run,
	// whose only task set has the job's id.
	Stages []StagePlan `json:"stages,omitempty"`
}

// StagePlan is a stage of a data-set job.
type StagePlan struct {
	Stage   uint64   `json:"stage"`
	Name    string   `json:"name"`
	Parents []uint64 `json:"parents,omitempty"` // the ids of the stages whose output this stage reads
}

// JobEnded is the end of a job.
type JobEnded struct {
	Time
	Job   uint64 `json:"job"`
	State string `json:"state"` // StateSucceeded, StateFailed or StateCancelled
	Error string `json:"error,omitempty"`
}

// TaskSetSubmitted is the submission of a task set: all tasks of a Func.Run, or those of a
// stage attempt.
type TaskSetSubmitted struct {
	Time
	Set      uint64 `json:"set"`
	Job      uint64 `json:"job"`
	Stage    uint64 `json:"stage,omitempty"` // 0 for a Func.Run
	Name     string `json:"name"`
	Function string `json:"function,omitempty"`
	Tasks    int    `json:"tasks"`
	Pool     string `json:"pool,omitempty"`
	Profile  int    `json:"profile"`
	CPUs     int    `json:"cpus"`
	Barrier  bool   `json:"barrier,omitempty"`
}

// TaskSetEnded is the end of a task set. Rows of the task set's attempts may be recorded later.
type TaskSetEnded struct {
	Time
	Set            uint64           `json:"set"`
	State          string           `json:"state"` // StateSucceeded, StateFailed or StateCancelled
	Error          string           `json:"error,omitempty"`
	Done           int              `json:"done"`
	FailedAttempts int              `json:"failedAttempts,omitempty"` // attempts that count as failures
	Counters       map[string]int64 `json:"counters,omitempty"`
	Gauges         map[string]int64 `json:"gauges,omitempty"` // the largest value of each gauge
}

// TaskSetValues contains the counters and gauges of a running task set, as of the executors'
// latest heartbeats. The counters do not include attempts that have failed.
type TaskSetValues struct {
	Time
	Set      uint64           `json:"set"`
	Counters map[string]int64 `json:"counters,omitempty"`
	Gauges   map[string]int64 `json:"gauges,omitempty"` // the largest value of each gauge
}

// TaskSetWaits contains the reason why no task of a task set is launched. Only reasons that may
// require a user's action are recorded.
type TaskSetWaits struct {
	Time
	Set    uint64 `json:"set"`
	Reason string `json:"reason"` // "" if the task set no longer waits
}

// AttemptFailed contains the error of an attempt that failed or whose executor was lost. The
// attempt has a row too.
type AttemptFailed struct {
	Time
	Set      uint64 `json:"set"`
	Task     uint32 `json:"task"`
	Number   uint32 `json:"number"`
	Executor uint32 `json:"executor"` // number of the executor's registration, see ExecutorRegistered
	Message  string `json:"message"`
	Stack    string `json:"stack,omitempty"`
	Log      string `json:"log,omitempty"` // the end of the executor's log at the time of the failure
}

// ExecutorHeapProfiled means that an executor's memory came near its container's limit, and
// that the executor wrote a heap profile to the container's logs.
type ExecutorHeapProfiled struct {
	Time
	ID       string `json:"id"`
	Resident int64  `json:"resident"` // resident memory of the process in bytes
}

// CacheChanged contains the number and the sizes of the partitions of a cached data set that
// are stored. Executors report sizes when they store partitions.
type CacheChanged struct {
	Time
	ID         string           `json:"id"`
	Name       string           `json:"name"`
	Level      string           `json:"level"`
	Partitions int              `json:"partitions"`        // number of partitions of the data set
	Stored     map[string]int   `json:"stored,omitempty"`  // number of stored partitions by executor
	Memory     map[string]int64 `json:"memory,omitempty"`  // size in memory by executor, in bytes
	Disk       map[string]int64 `json:"disk,omitempty"`    // size on disk by executor, in bytes
	Removed    bool             `json:"removed,omitempty"` // the data set is no longer cached
}

// StepsPlanned contains all steps of a job file, in the order of the file. It is recorded
// before the first step starts.
type StepsPlanned struct {
	Time
	Steps []StepPlan `json:"steps"`
}

// StepPlan is a step of a job file.
type StepPlan struct {
	Name  string   `json:"name"`
	Needs []string `json:"needs,omitempty"` // names of the steps on which this step depends
	Tasks int      `json:"tasks"`
}

// StepStarted is the start of a step of a job file.
type StepStarted struct {
	Time
	Step string `json:"step"`
}

// StepEnded is the end of a step of a job file. A skipped step has no StepStarted.
type StepEnded struct {
	Time
	Step  string `json:"step"`
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

// NotesChanged replaces the notes of one source. Notes inform users of problems, such as
// "yarn.exclude.nodes leaves no node".
type NotesChanged struct {
	Time
	Source string   `json:"source"` // "am" for the ApplicationMaster, or "master" for a standalone cluster's master
	Notes  []string `json:"notes"`
}

// Type implements Event.
func (*ApplicationStarted) Type() string     { return "applicationStarted" }
func (*ApplicationEnded) Type() string       { return "applicationEnded" }
func (*ProfileAdded) Type() string           { return "profileAdded" }
func (*ExecutorsRequested) Type() string     { return "executorsRequested" }
func (*ExecutorAllocated) Type() string      { return "executorAllocated" }
func (*ExecutorLaunched) Type() string       { return "executorLaunched" }
func (*ExecutorRegistered) Type() string     { return "executorRegistered" }
func (*ExecutorDecommissioned) Type() string { return "executorDecommissioned" }
func (*ExecutorLost) Type() string           { return "executorLost" }
func (*ExecutorHeapProfiled) Type() string   { return "executorHeapProfiled" }
func (*Excluded) Type() string               { return "excluded" }
func (*ExclusionEnded) Type() string         { return "exclusionEnded" }
func (*JobSubmitted) Type() string           { return "jobSubmitted" }
func (*JobEnded) Type() string               { return "jobEnded" }
func (*TaskSetSubmitted) Type() string       { return "taskSetSubmitted" }
func (*TaskSetEnded) Type() string           { return "taskSetEnded" }
func (*TaskSetValues) Type() string          { return "taskSetValues" }
func (*TaskSetWaits) Type() string           { return "taskSetWaits" }
func (*AttemptFailed) Type() string          { return "attemptFailed" }
func (*CacheChanged) Type() string           { return "cacheChanged" }
func (*StepsPlanned) Type() string           { return "stepsPlanned" }
func (*StepStarted) Type() string            { return "stepStarted" }
func (*StepEnded) Type() string              { return "stepEnded" }
func (*NotesChanged) Type() string           { return "notesChanged" }
