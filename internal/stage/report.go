package stage

// Planned says how many tasks a stage has: 0 or more. Call it once for each [Plan]. A
// stage keeps its number of tasks as long as it is known.
func (g *Graph) Planned(id StageID, tasks int) []Action {
	s := g.stage(id)
	if s == nil || !s.asked {
		return nil
	}
	s.plan(tasks)
	return g.schedule()
}

func (g *Graph) stage(id StageID) *stage {
	if id.Job != 0 {
		return g.results[id.Job]
	}
	return g.maps[id.Shuffle]
}

// TaskDone tells the graph that a task of an attempt has ended with a result. counts says
// whether the result counts. A result counts if the task has none yet, whichever live
// attempt it is from, unless its output is on a lost executor. If it counts, TaskDone
// registers the output of a map task; the result of a task of a result stage must be
// delivered to the job. For a result stage, output is ignored.
func (g *Graph) TaskDone(attempt uint64, task int, output Output) (counts bool, actions []Action) {
	a := g.takePending(attempt, task)
	if a == nil {
		return false, nil
	}
	s := a.stage
	changed := false
	switch {
	case !s.isMissing(task):
	case s.id.Job != 0:
		counts = true
		s.results.add(task)
		s.missing--
	case !g.outputs.isLost(output.Executor):
		counts = true
		o := &s.outputs[task]
		changed = o.generation != 0 && o.checksum != output.Checksum
		o.checksum, o.attempt = output.Checksum, attempt
		g.outputs.set(s, task, output.Executor, output.Host)
	}
	if counts {
		s.forgetFetchFailures()
	}
	if changed {
		g.rollBackReaders(s, task)
	}
	if !changed && !s.complete() && a.pendingCount > 0 {
		return counts, nil
	}
	return counts, g.schedule()
}

// FetchFailure is why a task could not read its input.
type FetchFailure struct {
	Shuffle    ShuffleID
	Map        int    // the map task whose output could not be read
	Generation uint64 // Output.Generation of that output, as the task knew it; 0 if it was missing
	// ExecutorGone says that the executor did not answer, so that none of its outputs can
	// be read. Otherwise only this output is missing or damaged.
	ExecutorGone bool
}

// FetchFailed reports that a task has ended without a result because an output that
// it reads could not be fetched. The output is dropped, unless it was replaced or
// relocated since. With ExecutorGone, all outputs on the same executor, of all shuffles
// that the stage reads, are dropped. The task runs again when all outputs are there.
func (g *Graph) FetchFailed(attempt uint64, task int, failure FetchFailure) []Action {
	a := g.takePending(attempt, task)
	if a == nil {
		return nil
	}
	s := a.stage
	counts := g.dropUnreadable(s, failure)
	if counts && !a.drained && !a.failed { // the failures of an attempt count as one
		a.failed = true
		s.fetchFailures++
		if s.fetchFailures >= g.config.MaxFetchFailures {
			g.failStage(s, &FetchError{Stage: s.id, Attempts: s.fetchFailures, Shuffle: failure.Shuffle, Map: failure.Map})
		}
	}
	return g.schedule()
}

// dropUnreadable drops the outputs that cannot be read according to a failure, and reports
// whether the failure counts. It does not count if the output was replaced or relocated
// since, or if silentExecutors.add says so.
func (g *Graph) dropUnreadable(s *stage, failure FetchFailure) (counts bool) {
	for _, read := range s.parents {
		if read.id.Shuffle != failure.Shuffle || failure.Map < 0 || failure.Map >= len(read.outputs) {
			continue
		}
		o := read.outputs[failure.Map]
		if !o.isAvailable || o.generation != failure.Generation {
			return false
		}
		if !failure.ExecutorGone {
			g.outputs.drop(read, failure.Map)
			return true
		}
		counts = s.silent.add(o.executor)
		for _, e := range g.outputs.executors {
			e.isLost = e == o.executor
		}
		for _, parent := range s.parents {
			g.outputs.dropLost(parent)
		}
		return counts
	}
	return true
}

// SetEnded reports that the task set of an attempt has ended. Call it after the reports of
// the set's tasks. err must be nil if each task was reported, or if the attempt was to
// drain. Otherwise, the jobs that need the stage fail with err.
func (g *Graph) SetEnded(attempt uint64, err error) []Action {
	a := g.attempts[attempt]
	if a == nil {
		return nil
	}
	g.removeAttempt(a)
	if err != nil && !a.drained {
		g.failStage(a.stage, err)
	}
	return g.schedule()
}

// takePending notes that a task of an attempt was reported, and returns the attempt; nil
// if the report is late or repeated.
func (g *Graph) takePending(number uint64, task int) *attempt {
	a := g.attempts[number]
	if a == nil || !a.pending.has(task) {
		return nil
	}
	a.pending.remove(task)
	if a.pendingCount--; a.pendingCount == 0 {
		g.removeAttempt(a)
	}
	return a
}
