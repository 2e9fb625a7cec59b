package stage

// rollBackReaders drops all that was computed from the outputs of a stage, because a task
// of the stage ran again and made other output than before. A job fails if results that
// were computed from the old output have been delivered to it.
//
// All stages that read the stage, directly or through other stages, are rolled back, even
// those that no job needs now. Otherwise, a later stage could read the new output together
// with what was computed from the old output.
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

// forget forgets the outputs that the stage had, so that new outputs may differ from them.
func (s *stage) forget() { clear(s.outputs) }

// transitiveReaders returns all stages that read the stage, directly or through others.
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
