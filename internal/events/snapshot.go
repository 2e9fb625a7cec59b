package events

import (
	"cmp"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"
)

// Snapshot is the state of an application at one time. It is immutable, and safe for
// concurrent use.
type Snapshot struct {
	Latest      time.Time        `json:"latest"` // the time of the latest event or row
	Application Application      `json:"application"`
	Totals      Totals           `json:"totals"`
	Profiles    []*Profile       `json:"profiles"`  // sorted by id
	Executors   []*Executor      `json:"executors"` // in the order of their first events
	Jobs        []*Job           `json:"jobs"`      // sorted by id; if there are many, only the latest
	Failures    []*FailureGroup  `json:"failures"`  // in the order of their first failures
	Exclusions  []Excluded       `json:"exclusions,omitempty"`
	Cached      []*CachedDataset `json:"cached,omitempty"`
	Steps       []*Step          `json:"steps,omitempty"`
	Notes       []string         `json:"notes,omitempty"`
	// Recent are the latest events, the oldest first.
	Recent []Event `json:"-"`

	attempts     rows[Attempt]
	measurements rows[Measurement]
	running      []Attempt
	byNumber     map[uint32]int // index in Executors by the number of a registration
}

// Application describes an attempt of an application and its state.
type Application struct {
	ApplicationStarted
	State string    `json:"state"`
	Ended time.Time `json:"ended,omitzero"`
	Error string    `json:"error,omitempty"`
}

// Totals are sums over the application.
type Totals struct {
	Counts
	Jobs        int `json:"jobs"`
	JobsRunning int `json:"jobsRunning"`
	Cores       int `json:"cores"`      // cores of registered executors
	CoresBusy   int `json:"coresBusy"`  // cores that run tasks
	Wanted      int `json:"wanted"`     // executors that the driver wants
	Registered  int `json:"registered"` // executors that are registered now
	Lost        int `json:"lost"`       // executors that were lost unexpectedly
}

// Counts are numbers of tasks and attempts, and sums over ended attempts.
type Counts struct {
	Tasks             int  `json:"tasks"`
	Done              int  `json:"done"`
	Running           int  `json:"running"`                // attempts that have not ended
	FailedAttempts    int  `json:"failedAttempts"`         // their functions failed
	LostAttempts      int  `json:"lostAttempts,omitempty"` // their executors were lost
	KilledAttempts    int  `json:"killedAttempts,omitempty"`
	SpeculativeCopies int  `json:"copies,omitempty"` // speculative attempts
	Sums              Sums `json:"sums"`
	// Omitted is how many attempts that have ended have no row, because too many attempts
	// started in a second. The other fields include them.
	Omitted int `json:"omitted,omitempty"`
}

// MeanTook returns the mean duration of the attempts that have ended; 0 if none has ended.
func (c *Counts) MeanTook() time.Duration {
	ended := c.Done + c.FailedAttempts + c.LostAttempts + c.KilledAttempts
	if ended == 0 {
		return 0
	}
	return c.Sums.Took.Duration() / time.Duration(ended)
}

// An attempt is a straggler if it has run for at least stragglerTime, and for at least
// stragglerFactor times the mean duration of the attempts of its task set that have ended.
const (
	stragglerFactor = 4
	stragglerTime   = 10 * time.Second
)

// IsStraggling reports whether an attempt that has run for a duration runs much longer than
// others. mean is the mean duration of the attempts of its task set that have ended; if it is 0,
// because none has, IsStraggling returns false.
func IsStraggling(runs, mean time.Duration) bool {
	return mean > 0 && runs >= stragglerTime && runs >= stragglerFactor*mean
}

// Profile is a resource profile.
type Profile struct {
	ProfileAdded
	Wanted    int       `json:"wanted"`             // how many of its executors the driver wants
	Requested time.Time `json:"requested,omitzero"` // when the driver wanted the first one
}

// States of an executor.
const (
	ExecutorStateAllocated       = "allocated"
	ExecutorStateLaunched        = "launched"
	ExecutorStateRegistered      = "registered"
	ExecutorStateDecommissioning = "decommissioning"
	ExecutorStateLost            = "lost"
)

// Executor is an executor, from the allocation of its container on. Times are zero if they are
// unknown.
type Executor struct {
	ID        string            `json:"id"`
	Host      string            `json:"host"`
	Container string            `json:"container,omitempty"`
	Profile   int               `json:"profile"`
	Cores     int               `json:"cores"`
	LogURLs   map[string]string `json:"logUrls,omitempty"`
	State     string            `json:"state"`
	Reason    string            `json:"reason,omitempty"`   // why it is decommissioned or lost
	Expected  bool              `json:"expected,omitempty"` // it was told to stop

	Allocated      time.Time `json:"allocated,omitzero"`
	Launched       time.Time `json:"launched,omitzero"`
	Registered     time.Time `json:"registered,omitzero"`
	Decommissioned time.Time `json:"decommissioned,omitzero"`
	Deadline       time.Time `json:"deadline,omitzero"` // of the decommission
	Lost           time.Time `json:"lost,omitzero"`
	HeapProfiled   time.Time `json:"heapProfiled,omitzero"` // when memory came near the limit, and a heap profile was kept

	Numbers []uint32 `json:"numbers"` // of its registrations, as in Attempt.Executor
	// Counts are over its attempts that have rows, so attempts in Omitted are missing. Tasks
	// is always 0.
	Counts Counts `json:"counts"`
	// Memory is the memory of its process over time. If there are many samples, some are left
	// out.
	Memory []MemorySample `json:"memory,omitempty"`
	modelVersion
}

// Job is a Func.Run or an action on a data set.
type Job struct {
	JobSubmitted
	State string    `json:"state"`
	Ended time.Time `json:"ended,omitzero"`
	Error string    `json:"error,omitempty"`
	// Sets are its task sets in the order of their submission. A data-set job may have several
	// task sets of one stage, and has none of a stage whose output exists already.
	Sets []*TaskSet `json:"sets"`
	// Counts are sums over Sets, except that a task that runs again in a later task set of
	// its stage counts once in Tasks and Done.
	Counts Counts `json:"counts"`
	modelVersion
}

// TaskSet is one submission to the scheduler: all tasks of a Func.Run, or an attempt of a
// stage.
type TaskSet struct {
	TaskSetSubmitted
	State      string           `json:"state"`
	Ended      time.Time        `json:"ended,omitzero"`
	Error      string           `json:"error,omitempty"`
	WaitReason string           `json:"waits,omitempty"` // why no task is launched
	Counts     Counts           `json:"counts"`
	Took       Histogram        `json:"took"` // of successful attempts
	Counters   map[string]int64 `json:"counters,omitempty"`
	Gauges     map[string]int64 `json:"gauges,omitempty"`
	modelVersion
}

// FailureGroup has the failures whose messages have the same first line, apart from numbers in
// it.
type FailureGroup struct {
	Message   string           `json:"message"` // of the first failure
	Count     int              `json:"count"`
	First     time.Time        `json:"first"`
	Last      time.Time        `json:"last"`
	Sets      map[uint64]int   `json:"sets"`      // number of failures by task set
	Executors map[string]int   `json:"executors"` // number of failures by executor
	Samples   []*AttemptFailed `json:"samples"`   // the first failures
	modelVersion
}

// CachedDataset is a data set that executors store.
type CachedDataset struct {
	CacheChanged
}

// Step is a step of a job file.
type Step struct {
	Name    string    `json:"name"`
	Needs   []string  `json:"needs,omitempty"` // the steps that must pass before it starts
	Tasks   int       `json:"tasks,omitempty"` // as planned
	State   string    `json:"state"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Error   string    `json:"error,omitempty"`
}

// Job returns the job with an id. It returns nil if the job is unknown or was too old to be
// kept.
func (s *Snapshot) Job(id uint64) *Job {
	if i, found := findJob(s.Jobs, id); found {
		return s.Jobs[i]
	}
	return nil
}

func findJob(jobs []*Job, id uint64) (index int, found bool) {
	return slices.BinarySearchFunc(jobs, id, func(j *Job, id uint64) int { return cmp.Compare(j.Job, id) })
}

// Set returns the task set with an id, and its job. It returns nil if the task set is unknown
// or was too old to be kept.
func (s *Snapshot) Set(id uint64) (*Job, *TaskSet) {
	for _, job := range slices.Backward(s.Jobs) { // backward, because mostly late jobs are looked up
		for _, set := range slices.Backward(job.Sets) {
			if set.Set == id {
				return job, set
			}
		}
	}
	return nil, nil
}

// Executor returns the executor whose registration has a number, nil if it is unknown.
func (s *Snapshot) Executor(number uint32) *Executor {
	if i, known := s.byNumber[number]; known {
		return s.Executors[i]
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. The JSON of a snapshot has no rows.
func (s *Snapshot) UnmarshalJSON(encoded []byte) error {
	type fields Snapshot
	if err := json.Unmarshal(encoded, (*fields)(s)); err != nil {
		return err
	}
	if slices.Contains(s.Executors, nil) || slices.Contains(s.Jobs, nil) || slices.Contains(s.Profiles, nil) || slices.Contains(s.Failures, nil) ||
		slices.Contains(s.Cached, nil) || slices.Contains(s.Steps, nil) ||
		slices.ContainsFunc(s.Jobs, func(j *Job) bool { return slices.Contains(j.Sets, nil) }) ||
		slices.ContainsFunc(s.Failures, func(g *FailureGroup) bool { return slices.Contains(g.Samples, nil) }) {
		return errors.New("an element of a list is null")
	}
	s.byNumber = map[uint32]int{}
	for i, e := range s.Executors {
		for _, number := range e.Numbers {
			s.byNumber[number] = i
		}
	}
	return nil
}

// Attempts yields the rows of attempts that have ended, whether they failed or not, in the
// order of their ends. If there are very many, the oldest are left out.
func (s *Snapshot) Attempts() iter.Seq[*Attempt] { return s.attempts.all() }

// Measurements yields the measurements of tasks of data sets' stages.
func (s *Snapshot) Measurements() iter.Seq[*Measurement] { return s.measurements.all() }

// RunningAttempts returns the attempts that run and have rows, in the order of their starts.
func (s *Snapshot) RunningAttempts() []Attempt { return s.running }

// modelVersion is the version of a Model's state to which an object belongs. Snapshots may
// share objects of older versions than the Model's. Before the Model changes such an object, it
// replaces it by a copy.
type modelVersion struct {
	version uint64
}

func (e *Executor) copied(v modelVersion) *Executor {
	c := *e
	c.modelVersion = v
	c.Numbers = slices.Clone(e.Numbers)
	return &c
}

func (j *Job) copied(v modelVersion) *Job {
	c := *j
	c.modelVersion = v
	c.Sets = slices.Clone(j.Sets)
	return &c
}

func (s *TaskSet) copied(v modelVersion) *TaskSet {
	c := *s
	c.modelVersion = v
	return &c
}

func (g *FailureGroup) copied(v modelVersion) *FailureGroup {
	c := *g
	c.modelVersion = v
	c.Sets, c.Executors = maps.Clone(g.Sets), maps.Clone(g.Executors)
	return &c
}
