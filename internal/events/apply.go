package events

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// apply applies an event to the state.
func (m *Model) apply(e Event) {
	m.updateLatest(MicrosOf(e.When()))
	switch e := e.(type) {
	case *ApplicationStarted:
		m.state.Application = Application{ApplicationStarted: *e, State: StateRunning}
	case *ApplicationEnded:
		m.state.Application.State, m.state.Application.Ended, m.state.Application.Error = e.State, e.Time.Time, e.Error
	case *JobSubmitted:
		m.jobSubmitted(e)
	case *JobEnded:
		m.jobEnded(e)
	case *TaskSetSubmitted:
		m.setSubmitted(e)
	case *TaskSetEnded:
		m.setEnded(e)
	case *TaskSetWaits:
		if _, set := m.set(e.Set); set != nil {
			set.WaitReason = e.Reason
		}
	case *TaskSetValues:
		if _, set := m.set(e.Set); set != nil && set.State == StateRunning {
			set.Counters, set.Gauges = e.Counters, e.Gauges
		}
		return // not added to Recent, because there are too many of these events
	case *AttemptFailed:
		m.addFailure(e)
		return // not added to Recent, because there are too many of these events
	case *ProfileAdded:
		m.profile(e.Profile).ProfileAdded = *e
	case *ExecutorsRequested:
		p := m.profile(e.Profile)
		if p.Wanted = e.Wanted; e.Wanted > 0 && p.Requested.IsZero() {
			p.Requested = e.Time.Time
		}
	case *CacheChanged:
		m.cacheChanged(e)
	case *StepsPlanned, *StepStarted, *StepEnded:
		m.stepChanged(e)
	case *NotesChanged:
		m.notes[e.Source] = e.Notes
	case *Excluded:
		if e.Set == 0 {
			m.state.Exclusions = append(m.state.Exclusions, *e)
		}
	case *ExclusionEnded:
		m.state.Exclusions = slices.DeleteFunc(slices.Clone(m.state.Exclusions), func(x Excluded) bool {
			return x.Executor == e.Executor && x.Host == e.Host
		})
	default:
		m.applyToExecutor(e)
	}
	if len(m.state.Recent) >= maxRecent {
		m.state.Recent = slices.Delete(m.state.Recent, 0, maxRecent/10)
	}
	m.state.Recent = append(m.state.Recent, e)
}

// applyToExecutor applies an event about an executor to the executor's state.
func (m *Model) applyToExecutor(event Event) {
	switch event := event.(type) {
	case *ExecutorAllocated:
		e := m.executor(event.ID)
		e.Host, e.Container, e.Profile, e.Allocated = event.Host, event.Container, event.Profile, event.Time.Time
		e.State = cmp.Or(e.State, ExecutorStateAllocated)
	case *ExecutorLaunched:
		e := m.executor(event.ID)
		e.Launched = event.Time.Time
		if e.State == ExecutorStateAllocated || e.State == "" {
			e.State = ExecutorStateLaunched
		}
	case *ExecutorRegistered:
		e := m.executor(event.ID)
		m.state.byNumber[event.Number] = m.byID[event.ID]
		e.Numbers = append(e.Numbers, event.Number)
		e.Host, e.Cores, e.Profile, e.LogURLs = event.Host, event.Cores, event.Profile, event.LogURLs
		e.State, e.Reason, e.Expected, e.Registered, e.Lost = ExecutorStateRegistered, "", false, event.Time.Time, time.Time{}
	case *ExecutorDecommissioned:
		e := m.executor(event.ID)
		e.State, e.Reason, e.Decommissioned, e.Deadline = ExecutorStateDecommissioning, event.Reason, event.Time.Time, event.Deadline
	case *ExecutorLost:
		e := m.executor(event.ID)
		if e.State != ExecutorStateLost {
			e.Lost = event.Time.Time
		}
		e.State, e.Reason, e.Expected = ExecutorStateLost, event.Reason, event.Expected
	case *ExecutorHeapProfiled:
		m.executor(event.ID).HeapProfiled = event.Time.Time
	}
}

// profile returns a resource profile, which the caller may change. It adds the profile if it is
// unknown.
func (m *Model) profile(id int) *Profile {
	i, found := slices.BinarySearchFunc(m.state.Profiles, id, func(p *Profile, id int) int { return cmp.Compare(p.Profile, id) })
	if !found {
		m.state.Profiles = slices.Insert(m.state.Profiles, i, &Profile{ProfileAdded: ProfileAdded{Profile: id}})
		return m.state.Profiles[i]
	}
	p := *m.state.Profiles[i]
	m.state.Profiles[i] = &p
	return &p
}

func (m *Model) jobSubmitted(e *JobSubmitted) {
	if j := m.job(e.Job); j != nil {
		j.JobSubmitted = *e
		return
	}
	i, _ := findJob(m.state.Jobs, e.Job)
	m.state.Jobs = slices.Insert(m.state.Jobs, i, &Job{JobSubmitted: *e, State: StateRunning, modelVersion: m.version})
	m.state.Totals.Jobs++
	m.state.Totals.JobsRunning++
	m.forgetJobs()
}

func (m *Model) jobEnded(e *JobEnded) {
	if j := m.job(e.Job); j != nil {
		if j.State == StateRunning {
			m.state.Totals.JobsRunning--
		}
		j.State, j.Ended, j.Error = e.State, e.Time.Time, e.Error
	}
}

func (m *Model) setSubmitted(e *TaskSetSubmitted) {
	if _, set := m.set(e.Set); set != nil {
		return
	}
	j := m.job(e.Job)
	if j == nil {
		m.jobSubmitted(&JobSubmitted{Time: e.Time, Job: e.Job, Name: e.Name, Pool: e.Pool})
		j = m.job(e.Job)
	}
	m.sets[e.Set] = setPosition{job: e.Job, index: len(j.Sets)}
	set := &TaskSet{TaskSetSubmitted: *e, State: StateRunning, modelVersion: m.version}
	set.Counts.Tasks = e.Tasks
	j.Sets = append(j.Sets, set)
	m.state.Totals.Tasks += e.Tasks
}

func (m *Model) setEnded(e *TaskSetEnded) {
	if _, set := m.set(e.Set); set != nil {
		set.State, set.Ended, set.Error, set.WaitReason = e.State, e.Time.Time, e.Error, ""
		set.Counters, set.Gauges = e.Counters, e.Gauges
	}
}

func (m *Model) cacheChanged(e *CacheChanged) {
	i := slices.IndexFunc(m.state.Cached, func(c *CachedDataset) bool { return c.ID == e.ID })
	switch {
	case e.Removed && i >= 0:
		m.state.Cached = slices.Delete(m.state.Cached, i, i+1)
	case e.Removed:
	case i >= 0:
		m.state.Cached[i] = &CachedDataset{*e}
	default:
		m.state.Cached = append(m.state.Cached, &CachedDataset{*e})
	}
}

func (m *Model) stepChanged(event Event) {
	switch event := event.(type) {
	case *StepsPlanned:
		for _, plan := range event.Steps {
			m.state.Steps = append(m.state.Steps, &Step{Name: plan.Name, Needs: plan.Needs, Tasks: plan.Tasks, State: StateWaiting})
		}
	case *StepStarted:
		step := m.step(event.Step, func(s *Step) bool { return s.State == StateWaiting })
		step.State, step.Started = StateRunning, event.Time.Time
	case *StepEnded:
		step := m.step(event.Step, func(*Step) bool { return true })
		step.State, step.Ended, step.Error = event.State, event.Time.Time, event.Error
	}
}

// step returns the last step that has the given name and for which the function "is" returns
// true. It adds a step if there is none. The caller may change the step.
func (m *Model) step(name string, is func(*Step) bool) *Step {
	for i, step := range slices.Backward(m.state.Steps) {
		if step.Name == name && is(step) {
			changed := *step
			m.state.Steps[i] = &changed
			return &changed
		}
	}
	added := &Step{Name: name}
	m.state.Steps = append(m.state.Steps, added)
	return added
}

const (
	// maxFailureGroups is the maximum number of groups of failures. Failures that would begin
	// further groups are collected in one more group, otherFailures.
	maxFailureGroups = 500
	// maxFailureSamples is the maximum number of failures in FailureGroup.Samples.
	maxFailureSamples = 20
	otherFailures     = "other failures"
)

// failures maps the key of each group to its index in Snapshot.Failures.
type failures map[string]int

// failureGroupKey returns the key of the group to which a failure with this message belongs:
// the message's first line with each number replaced by #.
func failureGroupKey(message string) string {
	first, _, _ := strings.Cut(message, "\n")
	var b strings.Builder
	digit := false
	for _, r := range first {
		if r >= '0' && r <= '9' {
			if !digit {
				b.WriteByte('#')
			}
			digit = true
			continue
		}
		digit = false
		b.WriteRune(r)
	}
	return b.String()
}

func (m *Model) addFailure(e *AttemptFailed) {
	group, message := failureGroupKey(e.Message), e.Message
	i, known := m.failures[group]
	if !known && len(m.failures) >= maxFailureGroups {
		group, message = otherFailures, otherFailures
		i, known = m.failures[group]
	}
	if !known {
		i = len(m.state.Failures)
		m.failures[group] = i
		m.state.Failures = append(m.state.Failures, &FailureGroup{
			Message: message, First: e.Time.Time, Sets: map[uint64]int{}, Executors: map[string]int{}, modelVersion: m.version,
		})
	}
	g := m.state.Failures[i]
	if g.modelVersion != m.version {
		g = g.copied(m.version)
		m.state.Failures[i] = g
	}
	g.Count++
	g.Last = e.Time.Time
	g.Sets[e.Set]++
	if executor, known := m.state.byNumber[e.Executor]; known {
		g.Executors[m.state.Executors[executor].ID]++
	}
	if len(g.Samples) < maxFailureSamples {
		g.Samples = append(g.Samples, e)
	}
}
