package events

import (
	"cmp"
	"maps"
	"slices"
	"sync"
)

// Limits bound the memory of a Model. A limit of 0 means no limit.
type Limits struct {
	Jobs     int // approximate maximum number of jobs; running jobs are never removed
	Attempts int // approximate maximum number of rows of attempts, and of measurements
}

// LiveLimits are the limits in an application's driver. With them, a Model takes about 40 MB.
var LiveLimits = Limits{Jobs: 10_000, Attempts: 200_000}

const (
	// maxRecent is the maximum number of events in Snapshot.Recent.
	maxRecent = 1000
	// maxMemorySamples is the maximum number of samples of an executor's memory. When it is
	// reached, every second sample is dropped.
	maxMemorySamples = 512
)

// Model computes the state of an application from its events and rows. It is safe for
// concurrent use.
type Model struct {
	limits Limits

	mu       sync.Mutex
	version  modelVersion // objects of this version are in no snapshot, so they may be changed
	state    Snapshot
	notes    map[string][]string    // notes by their source
	byID     map[string]int         // index in state.Executors, by the executor's id
	sets     map[uint64]setPosition // by the id of the task set
	running  map[attemptKey]Attempt // running attempts that have rows
	failures failures
}

type setPosition struct {
	job   uint64
	index int // index in Job.Sets
}

type attemptKey struct {
	set          uint64
	task, number uint32
}

func keyOf(a *Attempt) attemptKey { return attemptKey{set: a.Set, task: a.Task, number: a.Number} }

// NewModel returns a Model of an application without events and rows.
func NewModel(limits Limits) *Model {
	return &Model{
		limits:   limits,
		version:  modelVersion{1},
		state:    Snapshot{byNumber: map[uint32]int{}},
		notes:    map[string][]string{},
		byID:     map[string]int{},
		sets:     map[uint64]setPosition{},
		running:  map[attemptKey]Attempt{},
		failures: failures{},
	}
}

// Consume applies the events and rows of a batch to the state. It implements Consumer.
func (m *Model) Consume(b *Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range b.Events {
		m.apply(e)
	}
	for i := range b.Attempts {
		if a := &b.Attempts[i]; a.Outcome == OutcomeRunning {
			m.launched(a)
		} else {
			m.ended(a)
		}
	}
	for i := range b.Omitted {
		m.omitted(&b.Omitted[i])
	}
	for i := range b.Measurements {
		m.state.measurements.add(&b.Measurements[i])
	}
	for i := range b.Memory {
		m.memory(&b.Memory[i])
	}
	m.state.attempts.limit(m.limits.Attempts)
	m.state.measurements.limit(m.limits.Attempts)
}

// Snapshot returns the current state. Its running time grows with the number of jobs and
// executors, but hardly with the number of attempts that have ended.
func (m *Model) Snapshot() *Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updateTotals()
	s := m.state
	s.Profiles = slices.Clone(s.Profiles)
	s.Executors = slices.Clone(s.Executors)
	s.Jobs = slices.Clone(s.Jobs)
	s.Failures = slices.Clone(s.Failures)
	s.Exclusions = slices.Clone(s.Exclusions)
	s.Cached = slices.Clone(s.Cached)
	s.Steps = slices.Clone(s.Steps)
	s.Recent = slices.Clone(s.Recent)
	s.byNumber = maps.Clone(s.byNumber)
	s.attempts, s.measurements = s.attempts.clone(), s.measurements.clone()
	s.Notes = nil
	for _, source := range slices.Sorted(maps.Keys(m.notes)) {
		s.Notes = append(s.Notes, m.notes[source]...)
	}
	s.running = slices.SortedFunc(maps.Values(m.running), func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Set, b.Set), cmp.Compare(a.Task, b.Task))
	})
	m.version.version++ // the snapshot shares the objects of this version, so they must not change any more
	return &s
}

// updateTotals computes the totals that the methods for single events do not update.
func (m *Model) updateTotals() {
	totals := &m.state.Totals
	totals.Cores, totals.CoresBusy, totals.Registered, totals.Wanted, totals.Lost = 0, 0, 0, 0, 0
	for _, e := range m.state.Executors {
		switch e.State {
		case ExecutorStateRegistered, ExecutorStateDecommissioning:
			totals.Registered++
			totals.Cores += e.Cores
			totals.CoresBusy += min(e.Counts.Running, e.Cores)
		case ExecutorStateLost:
			if !e.Expected {
				totals.Lost++
			}
		}
	}
	for _, p := range m.state.Profiles {
		totals.Wanted += p.Wanted
	}
	for _, j := range m.state.Jobs {
		if j.modelVersion == m.version {
			j.sumTasks()
		}
	}
}

// sumTasks sets j.Counts.Tasks and j.Counts.Done. A stage's tasks count once, even if the stage
// has several task sets.
func (j *Job) sumTasks() {
	type stage struct{ tasks, done int }
	stages := map[uint64]stage{} // by id; the first task set of a stage contains all tasks of the stage
	for _, set := range j.Sets {
		s, known := stages[set.Stage]
		if !known {
			s.tasks = set.Tasks
		}
		s.done += set.Counts.Done
		stages[set.Stage] = s
	}
	j.Counts.Tasks, j.Counts.Done = 0, 0
	for _, s := range stages {
		j.Counts.Tasks += s.tasks
		j.Counts.Done += min(s.done, s.tasks)
	}
}

// job returns a job, which the caller may change; nil if the job is unknown.
func (m *Model) job(id uint64) *Job {
	i, found := findJob(m.state.Jobs, id)
	if !found {
		return nil
	}
	if j := m.state.Jobs[i]; j.modelVersion != m.version {
		m.state.Jobs[i] = j.copied(m.version)
	}
	return m.state.Jobs[i]
}

// set returns a task set and its job, which the caller may change; nil if the task set is
// unknown.
func (m *Model) set(id uint64) (*Job, *TaskSet) {
	place := m.sets[id]
	j := m.job(place.job)
	if j == nil || place.index >= len(j.Sets) || j.Sets[place.index].Set != id {
		return nil, nil
	}
	if s := j.Sets[place.index]; s.modelVersion != m.version {
		j.Sets[place.index] = s.copied(m.version)
	}
	return j, j.Sets[place.index]
}

// executor returns an executor, which the caller may change. It adds the executor if it is
// unknown.
func (m *Model) executor(id string) *Executor {
	i, known := m.byID[id]
	if !known {
		i = len(m.state.Executors)
		m.byID[id] = i
		m.state.Executors = append(m.state.Executors, &Executor{ID: id, modelVersion: m.version})
	}
	return m.ownExecutor(i)
}

func (m *Model) ownExecutor(i int) *Executor {
	if e := m.state.Executors[i]; e.modelVersion != m.version {
		m.state.Executors[i] = e.copied(m.version)
	}
	return m.state.Executors[i]
}

// counts calls f with each of the Counts that include an attempt: those of the application, the
// job, the task set and the executor. set is the id of this task set, and executor the number
// of the executor's registration.
func (m *Model) counts(set uint64, executor uint32, f func(*Counts)) {
	f(&m.state.Totals.Counts)
	if job, s := m.set(set); s != nil {
		f(&job.Counts)
		f(&s.Counts)
	}
	if i, known := m.state.byNumber[executor]; known {
		f(&m.ownExecutor(i).Counts)
	}
}

func (m *Model) launched(a *Attempt) {
	m.updateLatest(a.Start)
	m.running[keyOf(a)] = *a
	m.counts(a.Set, a.Executor, func(c *Counts) { c.launched(a, 1) })
}

func (c *Counts) launched(a *Attempt, n int) {
	c.Running += n
	c.Sums.Localities[min(a.Locality, LocalityAny)] += n
	if a.Speculative {
		c.SpeculativeCopies += n
	}
}

func (m *Model) ended(a *Attempt) {
	m.updateLatest(a.End)
	key := keyOf(a)
	_, running := m.running[key]
	delete(m.running, key)
	if a.Outcome == OutcomeRecalled {
		if running {
			m.counts(a.Set, a.Executor, func(c *Counts) { c.launched(a, -1) })
		}
		return
	}
	m.counts(a.Set, a.Executor, func(c *Counts) {
		if !running {
			c.launched(a, 1)
		}
		c.ended(a)
	})
	if _, set := m.set(a.Set); set != nil && a.Outcome == OutcomeSucceeded {
		set.Took.count(a.End - a.Start)
	}
	m.state.attempts.add(a)
}

func (c *Counts) ended(a *Attempt) {
	c.Running--
	c.Sums.add(a)
	switch a.Outcome {
	case OutcomeSucceeded:
		c.Done++
	case OutcomeKilled:
		c.KilledAttempts++
	case OutcomeExecutorLost:
		c.LostAttempts++
	default:
		c.FailedAttempts++
	}
}

func (m *Model) omitted(o *Omitted) {
	m.counts(o.Set, 0, func(c *Counts) {
		c.Running += o.Launched - o.Ended
		c.Done += o.Ended
		c.Omitted += o.Ended
		c.Sums.merge(&o.Sums)
	})
	if _, set := m.set(o.Set); set != nil {
		set.Took.add(&o.Took)
	}
}

func (m *Model) memory(sample *MemorySample) {
	m.updateLatest(sample.Time)
	i, known := m.state.byNumber[sample.Executor]
	if !known {
		return
	}
	e := m.ownExecutor(i)
	if len(e.Memory) >= maxMemorySamples {
		thinned := make([]MemorySample, 0, maxMemorySamples)
		for i := 1; i < len(e.Memory); i += 2 {
			thinned = append(thinned, e.Memory[i])
		}
		e.Memory = thinned
	}
	e.Memory = append(e.Memory, *sample)
}

// updateLatest sets Latest to the time of an event or a row if this time is later than Latest.
func (m *Model) updateLatest(at Micros) {
	if at > MicrosOf(m.state.Latest) {
		m.state.Latest = at.Time()
	}
}

// forgetJobs removes the oldest jobs that have ended if there are more jobs than Limits.Jobs.
func (m *Model) forgetJobs() {
	if m.limits.Jobs == 0 || len(m.state.Jobs) <= m.limits.Jobs {
		return
	}
	// Remove at least a tenth of the jobs, because each call of DeleteFunc traverses all jobs.
	toRemove := len(m.state.Jobs) - m.limits.Jobs*9/10
	m.state.Jobs = slices.DeleteFunc(m.state.Jobs, func(j *Job) bool {
		if toRemove == 0 || j.State == StateRunning {
			return false
		}
		toRemove--
		for _, set := range j.Sets {
			delete(m.sets, set.Set)
		}
		return true
	})
}
