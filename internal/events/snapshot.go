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
	Jobs        []*Job           `json:"jobs"`      // sorted by id; only the latest ones, see Limits.Jobs
	Failures    []*FailureGroup  `json:"failures"`  // in the order of the first failure of each group
	Exclusions  []Excluded       `json:"exclusions,omitempty"`
	Cached      []*CachedDataset `json:"cached,omitempty"`
	Steps       []*Step          `json:"steps,omitempty"`
	Notes       []string         `json:"notes,omitempty"`
	// Recent are the latest events, at most maxRecent, the oldest first.
	Recent []Event `json:"-"`

	attempts     rows[Attempt]
	measurements rows[Measurement]
	running      []Attempt
	byNumber     map[uint32]int // index in Executors, by the number of an executor's registration
}

// Application describes an application attempt and its state.
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
	Wanted      int `json:"wanted"`     // target number of executors, over all profiles
	Registered  int `json:"registered"` // executors that are registered now
	Lost        int `json:"lost"`       // executors that were lost unexpectedly
}

// Counts are numbers of tasks and attempts, and sums over the attempts that have ended.
type Counts struct {
	Tasks             int  `json:"tasks"`
	Done              int  `json:"done"`
	Running           int  `json:"running"`                // attempts that have not ended
	FailedAttempts    int  `json:"failedAttempts"`         // attempts whose task functions failed
	LostAttempts      int  `json:"lostAttempts,omitempty"` // attempts whose executors were lost
	KilledAttempts    int  `json:"killedAttempts,omitempty"`
	SpeculativeCopies int  `json:"copies,omitempty"` // speculative attempts
	Sums              Sums `json:"sums"`
	// Omitted is the number of ended attempts for which no row was recorded, because too many
	// attempts started in one second. The other fields count them, too.
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

// IsStraggling reports whether an attempt that has run for a duration is a straggler. mean is
// the mean duration of the attempts of its task set that have ended, or 0 if none has ended;
// IsStraggling then returns false.
func IsStraggling(runs, mean time.Duration) bool {
	return mean > 0 && runs >= stragglerTime && runs >= stragglerFactor*mean
}

// Profile is a resource profile.
type Profile struct {
	ProfileAdded
	Wanted    int       `json:"wanted"`             // target number of the profile's executors
	Requested time.Time `json:"requested,omitzero"` // when the driver first requested executors of the profile
}

// States of an executor.
const (
	ExecutorStateAllocated       = "allocated"
	ExecutorStateLaunched        = "launched"
	ExecutorStateRegistered      = "registered"
	ExecutorStateDecommissioning = "decommissioning"
	ExecutorStateLost            = "lost"
)

// Executor describes an executor from the allocation of its container on. Times are zero if
// they are unknown.
type Executor struct {
	ID        string            `json:"id"`
	Host      string            `json:"host"`
	Container string            `json:"container,omitempty"`
	Profile   int               `json:"profile"`
	Cores     int               `json:"cores"`
	LogURLs   map[string]string `json:"logUrls,omitempty"`
	State     string            `json:"state"`
	Reason    string            `json:"reason,omitempty"`   // why the executor is decommissioned or lost
	Expected  bool              `json:"expected,omitempty"` // the executor was told to stop

	Allocated      time.Time `json:"allocated,omitzero"`
	Launched       time.Time `json:"launched,omitzero"`
	Registered     time.Time `json:"registered,omitzero"`
	Decommissioned time.Time `json:"decommissioned,omitzero"`
	Deadline       time.Time `json:"deadline,omitzero"` // when the decommissioned executor will end
	Lost           time.Time `json:"lost,omitzero"`
	HeapProfiled   time.Time `json:"heapProfiled,omitzero"` // when memory came near the limit and a heap profile was written

	Numbers []uint32 `json:"numbers"` // numbers of the executor's registrations, as in Attempt.Executor
	// Counts are the counts of the executor's attempts that have rows. They do not include the
	// attempts that are only counted in Omitted. Counts.Tasks is always 0.
	Counts Counts `json:"counts"`
	// Memory contains samples of the memory of the executor's process, the oldest first. If
	// there are more than maxMemorySamples, some are dropped.
	Memory []MemorySample `json:"memory,omitempty"`
	modelVersion
}

// Job is a Func.Run or an action on a data set.
type Job struct {
	JobSubmitted
	State string    `json:"state"`
	Ended time.Time `json:"ended,omitzero"`
	Error string    `json:"error,omitempty"`
	// Sets are the task sets of the job in the order of their submission. A data-set job may
	// have several task sets for one stage, and has none for a stage whose output exists
	// already.
	Sets []*TaskSet `json:"sets"`
	// Counts are sums over Sets, except that a task that runs again in a later attempt of its
	// stage counts once in Tasks and Done.
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
	WaitReason string           `json:"waits,omitempty"` // why no task of the set is launched
	Counts     Counts           `json:"counts"`
	Took       Histogram        `json:"took"` // durations of successful attempts
	Counters   map[string]int64 `json:"counters,omitempty"`
	Gauges     map[string]int64 `json:"gauges,omitempty"`
	modelVersion
}

// FailureGroup contains the failures whose messages have the same first line, if numbers in the
// line are ignored.
type FailureGroup struct {
	Message   string           `json:"message"` // the message of the first failure
	Count     int              `json:"count"`
	First     time.Time        `json:"first"`
	Last      time.Time        `json:"last"`
	Sets      map[uint64]int   `json:"sets"`      // number of failures by task set
	Executors map[string]int   `json:"executors"` // number of failures by executor
	Samples   []*AttemptFailed `json:"samples"`   // the first failures
	modelVersion
}

// CachedDataset is a data set whose partitions executors store.
type CachedDataset struct {
	CacheChanged
}

// Step is a step of a job file.
type Step struct {
	Name    string    `json:"name"`
	Needs   []string  `json:"needs,omitempty"` // names of the steps on which this step depends
	Tasks   int       `json:"tasks,omitempty"` // the planned number of tasks
	State   string    `json:"state"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	Error   string    `json:"error,omitempty"`
}

// Job returns the job with the given id. It returns nil if the job is unknown or has been
// removed because of Limits.Jobs.
func (s *Snapshot) Job(id uint64) *Job {
	if i, found := findJob(s.Jobs, id); found {
		return s.Jobs[i]
	}
	return nil
}

func findJob(jobs []*Job, id uint64) (index int, found bool) {
	return slices.BinarySearchFunc(jobs, id, func(j *Job, id uint64) int { return cmp.Compare(j.Job, id) })
}

// Set returns the task set with the given id, and its job. It returns nil if the task set is
// unknown or its job has been removed because of Limits.Jobs.
func (s *Snapshot) Set(id uint64) (*Job, *TaskSet) {
	for _, job := range slices.Backward(s.Jobs) { // latest first, because mostly recent jobs are looked up
		for _, set := range slices.Backward(job.Sets) {
			if set.Set == id {
				return job, set
			}
		}
	}
	return nil, nil
}

// Executor returns the executor that registered with the given number; nil if it is unknown.
func (s *Snapshot) Executor(number uint32) *Executor {
	if i, known := s.byNumber[number]; known {
		return s.Executors[i]
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler. The result has no rows, because the
// JSON contains none.
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

// Attempts yields the rows of attempts that have ended, successful or not, in the order of
// their ends. The oldest rows may have been removed because of Limits.Attempts.
func (s *Snapshot) Attempts() iter.Seq[*Attempt] { return s.attempts.all() }

// Measurements yields the measurements of tasks of data sets' stages, the oldest first.
func (s *Snapshot) Measurements() iter.Seq[*Measurement] { return s.measurements.all() }

// RunningAttempts returns the running attempts that have rows, in the order of their starts.
func (s *Snapshot) RunningAttempts() []Attempt { return s.running }

// modelVersion is the version of the Model's state in which an object was created. Snapshots
// may share objects whose version is older than the Model's. The Model does not change such an
// object, but replaces it by a changed copy.
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
