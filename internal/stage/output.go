package stage

import "slices"

// Output is the location of the output of a map task.
type Output struct {
	// Executor is the executor that has the output; "" if the output is missing. The ID of a
	// lost executor must not be used again. So an executor that registers again after its loss
	// must have a new ID in Output, for example its ID combined with the number of its
	// registrations.
	Executor string
	Host     string // the host of Executor
	// Checksum is one checksum over the records of all partitions. It includes the partition of
	// each record, but does not depend on the order of the records within a partition.
	Checksum uint64

	// Attempt is the stage attempt that wrote the output. The graph sets it.
	Attempt uint64
	// Generation increases with each output that is registered or relocated. The graph sets it.
	Generation uint64
}

// mapOutput is the latest output of a map task. Its generation is 0 if the task has written no
// output since the stage's last rollback.
type mapOutput struct {
	executor    *executor // the executor that has the output or, if it is missing, had it last
	isAvailable bool      // whether the output exists
	checksum    uint64
	attempt     uint64
	generation  uint64
}

// executor is an executor that has outputs.
type executor struct {
	id, host string
	outputs  int  // number of outputs on the executor
	isLost   bool // the executor is lost and its outputs are being dropped
}

// outputLocations stores which executors have outputs and which executors are lost.
type outputLocations struct {
	executors map[string]*executor
	// lost maps the id of each lost executor to the number of the latest attempt at the time of
	// the loss. Later attempts cannot have run on the executor.
	lost       map[string]uint64
	generation uint64
}

func newLocations() outputLocations {
	return outputLocations{executors: make(map[string]*executor), lost: make(map[string]uint64)}
}

func (l *outputLocations) isLost(id string) bool { _, lost := l.lost[id]; return lost }

// forgetLost removes lost executors from l.lost, except those on which the attempt with the
// number oldest or a later attempt may have run.
func (l *outputLocations) forgetLost(oldest uint64) {
	for id, last := range l.lost {
		if last < oldest {
			delete(l.lost, id)
		}
	}
}

// setLocation records that the executor with this id and host, and no other one, has the output
// of the task.
func (l *outputLocations) setLocation(s *stage, task int, id, host string) {
	l.drop(s, task)
	e := l.executors[id]
	if e == nil {
		e = &executor{id: id, host: host}
		l.executors[id] = e
	}
	e.outputs++
	s.missing--
	l.generation++
	s.generation = l.generation
	o := &s.outputs[task]
	o.executor, o.isAvailable, o.generation = e, true, l.generation
}

// drop removes the location of an output if the output exists.
func (l *outputLocations) drop(s *stage, task int) {
	o := &s.outputs[task]
	if !o.isAvailable {
		return
	}
	o.isAvailable = false
	s.missing++
	l.generation++
	s.generation = l.generation
	e := o.executor
	if e.outputs--; e.outputs == 0 {
		delete(l.executors, e.id)
	}
}

// dropLost drops the outputs of a stage on executors whose isLost is set.
func (l *outputLocations) dropLost(s *stage) {
	for task, o := range s.outputs {
		if o.isAvailable && o.executor.isLost {
			l.drop(s, task)
			s.lost = true
		}
	}
}

// Outputs returns the outputs of a shuffle by map task, and reports whether all exist. The
// outputs have not changed if generation is the same as in an earlier call. outputs is nil if
// the map stage has not been planned.
func (g *Graph) Outputs(shuffle ShuffleID) (outputs []Output, complete bool, generation uint64) {
	s := g.maps[shuffle]
	if s == nil || s.tasks == unplanned {
		return nil, false, 0
	}
	outputs = make([]Output, len(s.outputs))
	for task, o := range s.outputs {
		if o.isAvailable {
			outputs[task] = Output{Executor: o.executor.id, Host: o.executor.host, Checksum: o.checksum, Attempt: o.attempt, Generation: o.generation}
		}
	}
	return outputs, s.complete(), s.generation
}

// ExecutorsLost drops all outputs of lost executors. Outputs on these executors that are
// reported later do not count. The graph does not restart tasks that ran on these executors;
// their task sets retry them. Executors that are lost together, such as those of a lost host,
// must be reported in one call: then one attempt of a stage computes all their outputs again,
// not one attempt for each executor.
func (g *Graph) ExecutorsLost(ids ...string) []Action {
	found := false
	for _, e := range g.outputs.executors {
		e.isLost = slices.Contains(ids, e.id)
		found = found || e.isLost
	}
	for _, id := range ids {
		g.outputs.lost[id] = g.lastAttempt
	}
	if found {
		for _, s := range g.maps {
			g.outputs.dropLost(s)
			g.unused = append(g.unused, s)
		}
	}
	return g.schedule()
}

// Relocation means that an executor that is being stopped has copied one of its outputs to
// another executor.
type Relocation struct {
	Shuffle  ShuffleID
	Map      int
	Attempt  uint64 // Output.Attempt of the output
	From     string // the executor that is being stopped
	Executor string // the executor that has the copy
	Host     string // the host of Executor
}

// Relocated reports that an output was copied to another executor. counts is false if the
// report is ignored, because the output was replaced or relocated in the meantime, or because
// the other executor is lost. (The graph records a loss until all attempts that began before it
// have ended.) If the output was lost in the meantime, Relocated makes it available again.
func (g *Graph) Relocated(r Relocation) (counts bool, actions []Action) {
	s := g.maps[r.Shuffle]
	if s == nil || r.Map < 0 || r.Map >= len(s.outputs) || g.outputs.isLost(r.Executor) {
		return false, nil
	}
	o := s.outputs[r.Map]
	if r.Attempt == 0 || o.attempt != r.Attempt || o.executor.id != r.From || r.From == r.Executor {
		return false, nil
	}
	g.outputs.setLocation(s, r.Map, r.Executor, r.Host)
	if o.isAvailable {
		return true, nil
	}
	return true, g.schedule()
}
