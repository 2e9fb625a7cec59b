package stage

import (
	"cmp"
	"slices"
)

func (g *Graph) addAction(a Action) { g.actions = append(g.actions, a) }

// schedule ends the jobs that are complete, starts the stages that other jobs need and whose
// inputs exist, and aborts the stages that no job needs. It returns all actions since the last
// call.
func (g *Graph) schedule() []Action {
	g.pass++
	g.jobs = slices.DeleteFunc(g.jobs, func(j *job) bool {
		if !j.result.complete() {
			return false
		}
		g.addAction(JobDone{Job: j.id})
		g.dropJob(j)
		return true
	})
	for _, j := range g.jobs {
		g.visit(j.result, j.id)
	}
	g.stopUnneeded()
	g.forgetUnused()
	g.outputs.forgetLost(g.oldestAttempt())
	actions := g.actions
	g.actions = nil
	return actions
}

// visit handles a stage that is not complete and that the job needs. If the outputs of its
// parents exist, visit plans the stage or starts an attempt. Otherwise it visits the incomplete
// parents.
func (g *Graph) visit(s *stage, job JobID) {
	if s.visited == g.pass {
		return
	}
	s.visited = g.pass
	ready, stable := true, true
	for _, parent := range s.parents {
		if !parent.complete() {
			ready, stable = false, stable && parent.stable
		}
	}
	switch {
	case !ready:
		s.asked = false
		g.interrupt(s, stable)
		for _, parent := range s.parents {
			if !parent.complete() {
				g.visit(parent, job)
			}
		}
	case s.tasks == unplanned && !s.asked:
		s.asked = true
		g.awaitingPlan[s] = struct{}{}
		g.addAction(Plan{Stage: s.id})
	case s.tasks != unplanned && (s.lost || !s.running()):
		g.run(s, job)
	}
}

// run starts an attempt with all tasks that have no result and that no live attempt will run.
func (g *Graph) run(s *stage, job JobID) {
	s.lost = false
	tasks := s.waiting()
	if len(tasks) == 0 {
		return
	}
	g.lastAttempt++
	a := &attempt{stage: s, number: g.lastAttempt, pending: newBitset(s.tasks)}
	for _, task := range tasks {
		a.pending.add(task)
	}
	a.pendingCount = len(tasks)
	s.attempts = append(s.attempts, a)
	g.attempts[a.number] = a
	g.addAction(Run{Stage: s.id, Attempt: a.number, Tasks: tasks, Priority: Priority{Job: job, Stage: s.number}})
}

// interrupt stops a stage that reads missing outputs. If stable is set, the outputs will be the
// same when they are computed again, so interrupt drains the stage's attempts. Otherwise it
// aborts them.
func (g *Graph) interrupt(s *stage, stable bool) {
	if !stable {
		g.abortAll(s, outputsLost)
		return
	}
	for _, a := range s.attempts {
		if !a.drained {
			a.drained = true
			g.addAction(Drain{Stage: s.id, Attempt: a.number})
		}
	}
}

// stopUnneeded aborts the attempts of the stages that no job needs, which are the stages that
// this call of schedule has not visited. It also withdraws the Plan actions of these stages, so
// that later calls of Planned for them are ignored.
func (g *Graph) stopUnneeded() {
	var unneeded []*attempt
	for _, a := range g.attempts {
		if a.stage.visited != g.pass {
			unneeded = append(unneeded, a)
		}
	}
	slices.SortFunc(unneeded, func(a, b *attempt) int { return cmp.Compare(a.number, b.number) })
	for _, a := range unneeded {
		g.removeAttempt(a)
		g.addAction(Abort{Stage: a.stage.id, Attempt: a.number, Reason: notNeeded})
	}
	for s := range g.awaitingPlan {
		if s.visited != g.pass {
			s.asked = false
		}
		if !s.asked {
			delete(g.awaitingPlan, s)
		}
	}
}

func (g *Graph) abortAll(s *stage, reason string) {
	for _, a := range s.attempts {
		delete(g.attempts, a.number)
		g.addAction(Abort{Stage: s.id, Attempt: a.number, Reason: reason})
	}
	s.attempts = nil
}

func (g *Graph) removeAttempt(a *attempt) {
	delete(g.attempts, a.number)
	a.stage.attempts = slices.DeleteFunc(a.stage.attempts, func(other *attempt) bool { return other == a })
}

// oldestAttempt returns the lowest number of a live attempt. If there is none, it returns the
// number of the next attempt.
func (g *Graph) oldestAttempt() uint64 {
	oldest := g.lastAttempt + 1
	for number := range g.attempts {
		oldest = min(oldest, number)
	}
	return oldest
}

// needs reports whether the job needs missing results of the stage.
func (j *job) needs(s *stage) bool {
	seen := make(map[*stage]bool)
	var reaches func(from *stage) bool
	reaches = func(from *stage) bool {
		if seen[from] || from.complete() {
			return false
		}
		seen[from] = true
		return from == s || slices.ContainsFunc(from.parents, reaches)
	}
	return reaches(j.result)
}

// failStage fails the jobs that need the stage.
func (g *Graph) failStage(s *stage, err error) {
	g.endJobs(JobFailed{Err: err}, func(j *job) bool { return j.needs(s) })
	s.forgetFetchFailures()
}
