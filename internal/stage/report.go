package stage

// Planned sets the number of tasks of a stage: 0 or more. The owner must call it once for each
// [Plan]. The number does not change while the graph contains the stage.
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

// TaskDone reports that a task of an attempt has ended with a result. counts is false if the
// result is ignored: the task has a result already, the attempt is not live, or the output is
// on a lost executor. Otherwise, TaskDone registers the output of a map task; the owner must
// deliver the result of a task of a result stage to the job. For a result stage, output is
// ignored.
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
		g.outputs.setLocation(s, task, output.Executor, output.Host)
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

// FetchFailure is the reason why a task could not read its input.
type FetchFailure struct {
	Shuffle    ShuffleID
	Map        int    // the map task whose output could not be read
	Generation uint64 // Output.Generation of this output when the task started; 0 if the output was missing
	// ExecutorGone means that the executor did not respond, so that none of its outputs can be
	// read. If it is false, only this output is missing or damaged.
	ExecutorGone bool
}

// FetchFailed reports that a task has ended without a result because an output that it reads
// could not be fetched. The graph drops the output, unless it was replaced or relocated in the
// meantime. If ExecutorGone is set, the graph drops all outputs on the same executor, of all
// shuffles that the stage reads. The task runs again when all outputs exist.
func (g *Graph) FetchFailed(attempt uint64, task int, failure FetchFailure) []Action {
	a := g.takePending(attempt, task)
	if a == nil {
		return nil
	}
	s := a.stage
	counts := g.dropUnreadable(s, failure)
	if counts && !a.drained && !a.failed { // only one failure of each attempt is counted
		a.failed = true
		s.fetchFailures++
		if s.fetchFailures >= g.config.MaxFetchFailures {
			g.failStage(s, &FetchError{Stage: s.id, Attempts: s.fetchFailures, Shuffle: failure.Shuffle, Map: failure.Map})
		}
	}
	return g.schedule()
}

// dropUnreadable drops the outputs that cannot be read according to a failure, and reports
// whether the failure counts. The failure does not count if the output was replaced or
// relocated in the meantime, or if silentExecutors.add returns false.
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

// SetEnded reports that the task set of an attempt has ended. It must be called after the
// reports on the tasks. err must be nil if the ends of all tasks were reported or a [Drain] was
// returned for the attempt. Otherwise, the jobs that need the stage fail with err.
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

// takePending records that the end of a task of an attempt was reported, and returns the
// attempt. It returns nil if the attempt is not live or the end was reported before.
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
