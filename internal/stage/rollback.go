package stage

// rollBackReaders drops everything that was computed from the outputs of a stage. It is called
// when the given task of this stage has run again and its output differs from the previous one.
// A job fails if it has received results that were computed from the previous output.
//
// All stages that read the stage, directly or through other stages, are rolled back, even those
// that no job needs now. Otherwise, a later stage could read the new output together with data
// that was computed from the previous output.
func (g *Graph) rollBackReaders(changed *stage, task int) {
	for _, s := range transitiveReaders(changed) {
		g.abortAll(s, outputsChanged)
		if s.done() == 0 {
			s.forget()
			continue
		}
		if s.id.Job != 0 {
			err := &ChangedError{Stage: changed.id, Map: task, Results: s.done()}
			g.endJobs(JobFailed{Err: err}, func(j *job) bool { return j.result == s })
			continue
		}
		for task := range s.outputs {
			g.outputs.drop(s, task)
		}
		s.forget()
		g.unused = append(g.unused, s)
		g.addAction(RolledBack{Stage: s.id})
	}
}

// forget removes all information about the stage's outputs, so that new outputs may have other
// checksums.
func (s *stage) forget() { clear(s.outputs) }

// transitiveReaders returns all stages that read s, directly or through other stages.
func transitiveReaders(s *stage) []*stage {
	var found []*stage
	seen := map[*stage]bool{s: true}
	for pending := []*stage{s}; len(pending) > 0; pending = pending[1:] {
		for _, child := range pending[0].children {
			if !seen[child] {
				seen[child] = true
				found = append(found, child)
				pending = append(pending, child)
			}
		}
	}
	return found
}
