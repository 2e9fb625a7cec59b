package stage_test

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// event applies an event to the model by do, then checks the actions that the graph returns for
// the same event.
func (m *model) event(do func(), actions func() []stage.Action) {
	m.mustAbort, m.mustFail = map[uint64]bool{}, map[stage.JobID]bool{}
	do()
	m.check(actions())
}

func (m *model) check(actions []stage.Action) {
	doneBefore := map[stage.JobID]bool{}
	for _, job := range m.jobs {
		doneBefore[job] = m.stages[stage.StageID{Job: job}].complete()
	}
	for _, action := range actions { // ends of jobs first, because they determine which other actions are correct
		switch a := action.(type) {
		case stage.JobDone:
			must(doneBefore[a.Job] && !m.mustFail[a.Job], "%+v: tasks have no results, or it has failed", a)
			m.end(a.Job)
		case stage.JobFailed:
			must(m.mustFail[a.Job], "%+v: without cause", a)
			m.end(a.Job)
		}
	}
	needed := m.needed()
	for _, action := range actions {
		switch a := action.(type) {
		case stage.Plan:
			s := m.stages[a.Stage]
			must(m.ready(s) && s.tasks < 0 && !s.asked, "%+v: not ready or planned", a)
			s.asked = true
		case stage.Run:
			m.run(a, needed)
		case stage.Drain:
			attempt := m.attempts[a.Attempt]
			must(attempt != nil && !attempt.drained && !m.ready(attempt.stage), "%+v: without cause", a)
			attempt.drained = true
		case stage.Abort:
			attempt := m.attempts[a.Attempt]
			must(attempt != nil, "%+v: it is not live", a)
			_, isNeeded := needed[attempt.stage]
			must(!isNeeded || m.mustAbort[a.Attempt] || m.unstable(attempt.stage), "%+v: without cause", a)
			delete(m.attempts, a.Attempt)
		}
	}
	m.checkState()
	m.forget()
}

func (m *model) run(a stage.Run, needed map[*modelStage]stage.JobID) {
	s := m.stages[a.Stage]
	job, isNeeded := needed[s]
	must(isNeeded && job == a.Priority.Job, "%+v: needed by job %d", a, job)
	must(m.ready(s), "%+v: outputs of parents are missing", a)
	must(len(a.Tasks) > 0 && slices.Equal(a.Tasks, m.waiting(s)), "%+v: waiting are %v", a, m.waiting(s))
	must(m.attempts[a.Attempt] == nil, "%+v: twice", a)
	pending := map[int]bool{}
	for _, task := range a.Tasks {
		pending[task] = true
	}
	m.attempts[a.Attempt] = &modelAttempt{number: a.Attempt, stage: s, pending: pending}
}

// unstable reports whether the stage reads missing outputs that may differ when computed again.
func (m *model) unstable(s *modelStage) bool {
	return slices.ContainsFunc(s.reads, func(id stage.ShuffleID) bool {
		parent := m.stages[stage.StageID{Shuffle: id}]
		return !parent.complete() && !parent.stable
	})
}

func (m *model) end(job stage.JobID) {
	must(!m.ended[job], "job %d has ended twice", job)
	m.ended[job] = true
	m.jobs = slices.DeleteFunc(m.jobs, func(other stage.JobID) bool { return other == job })
	for id, s := range m.stages {
		if s.jobs[job] {
			delete(s.jobs, job)
			if len(s.jobs) == 0 {
				s.failures = 0
			}
		}
		if id.Job == job {
			delete(m.stages, id)
		}
	}
	for number, a := range m.attempts {
		if a.stage.id.Job == job && len(a.pending) == 0 {
			delete(m.attempts, number)
		}
	}
}

// checkState checks that a stage runs if and only if a job needs it and its inputs exist.
func (m *model) checkState() {
	for job := range m.mustFail {
		must(m.ended[job], "job %d must fail", job)
	}
	for _, job := range m.jobs {
		must(!m.stages[stage.StageID{Job: job}].complete(), "job %d is done", job)
	}
	for number := range m.mustAbort {
		must(m.attempts[number] == nil, "attempt %d must be aborted", number)
	}
	needed := m.needed()
	starting := map[*modelStage]bool{}
	for _, a := range m.attempts {
		_, isNeeded := needed[a.stage]
		must(isNeeded, "attempt %d of %s is not needed", a.number, a.stage.id)
		must(!m.unstable(a.stage), "attempt %d of %s reads outputs that may change", a.number, a.stage.id)
		if !a.drained {
			starting[a.stage] = true
		}
	}
	for _, s := range m.stages {
		_, isNeeded := needed[s]
		runs := isNeeded && m.ready(s)
		if !runs {
			s.asked = false
		}
		must(s.asked == (runs && s.tasks < 0), "%s: asked for a plan: %t", s.id, s.asked)
		runs = runs && s.tasks >= 0
		must(starting[s] == runs, "%s: starts tasks: %t", s.id, starting[s])
		must(!runs || !m.hasLost[s] || len(m.waiting(s)) == 0, "%s has lost outputs, and the tasks %v wait", s.id, m.waiting(s))
		if runs {
			delete(m.hasLost, s)
		}
	}
}

// forget removes the stages that have no job, no outputs and no reader.
func (m *model) forget() {
	for again := true; again; {
		again = false
		for id, s := range m.stages {
			kept := len(s.jobs) > 0
			for _, output := range s.outputs {
				kept = kept || output.Executor != ""
			}
			for _, other := range m.stages {
				kept = kept || slices.Contains(other.reads, id.Shuffle) && id.Job == 0
			}
			if !kept {
				delete(m.stages, id)
				again = true
			}
		}
	}
}
