package stage

import "slices"

// Output is where the output of a map task is.
type Output struct {
	// Executor is the executor that has the output; "" if the output is missing. The ID of a
	// lost executor must not be used again. So an executor that registers again after its
	// loss must have another ID here, made for example of its ID and the number of times that
	// it has registered.
	Executor string
	Host     string // host of the executor
	// Checksum is the same for the same records in the same partitions, even if their order
	// within a partition differs.
	Checksum uint64

	// Attempt is the attempt of the stage that wrote the output. The graph sets it.
	Attempt uint64
	// Generation is greater for each output that is registered or relocated. The graph
	// sets it.
	Generation uint64
}

// mapOutput is the latest output of a map task. Its generation is 0 if there has been none
// since the stage's last rollback.
type mapOutput struct {
	executor    *executor // the executor that has the output, or had it last
	isAvailable bool      // whether the output is there, and not missing
	checksum    uint64
	attempt     uint64
	generation  uint64
}

// executor is an executor that has outputs.
type executor struct {
	id, host string
	outputs  int  // number of outputs that it has
	isLost   bool // its outputs are being dropped
}

// outputLocations knows which executors have outputs and which are lost.
type outputLocations struct {
	executors map[string]*executor
	// lost has, by executor id, the number of the latest attempt when the executor was lost.
	// Later attempts cannot have run on the executor.
	lost       map[string]uint64
	generation uint64
}

func newLocations() outputLocations {
	return outputLocations{executors: make(map[string]*executor), lost: make(map[string]uint64)}
}

func (l *outputLocations) isLost(id string) bool { _, lost := l.lost[id]; return lost }

// forgetLost forgets the executors on which no attempt from oldest on can have run.
func (l *outputLocations) forgetLost(oldest uint64) {
	for id, last := range l.lost {
		if last < oldest {
			delete(l.lost, id)
		}
	}
}

// set registers the location of an output that is missing or is elsewhere.
func (l *outputLocations) set(s *stage, task int, id, host string) {
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

// drop removes the location of an output, if it is there.
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

// dropLost drops the outputs of a stage on executors that are marked as lost.
func (l *outputLocations) dropLost(s *stage) {
	for task, o := range s.outputs {
		if o.isAvailable && o.executor.isLost {
			l.drop(s, task)
			s.lost = true
		}
	}
}

// Outputs returns the outputs of a shuffle by map task, and reports whether all are
// there. The outputs have not changed as long as generation is the same. They are nil if
// the map stage was not planned.
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
// reported later do not count. The graph does nothing about tasks that ran there: their
// task sets run them again. Report executors that are lost together, such as those of a
// lost host, in one call: then one attempt of a stage makes all their outputs again, and
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

// Relocation says that a stopping executor has copied one of its outputs to another
// executor.
type Relocation struct {
	Shuffle  ShuffleID
	Map      int
	Attempt  uint64 // Output.Attempt of the output
	From     string // the executor that stops
	Executor string // the executor that has the copy
	Host     string // host of Executor
}

// Relocated tells the graph that an output is now on another executor. counts says whether
// the report counts. It is ignored if the output was replaced or relocated since, or if the
// other executor is known to be lost. (The graph knows a loss until all attempts that began
// before the loss have ended.) If the output was lost in the meantime, it is now there
// again.
func (g *Graph) Relocated(r Relocation) (counts bool, actions []Action) {
	s := g.maps[r.Shuffle]
	if s == nil || r.Map < 0 || r.Map >= len(s.outputs) || g.outputs.isLost(r.Executor) {
		return false, nil
	}
	o := s.outputs[r.Map]
	if r.Attempt == 0 || o.attempt != r.Attempt || o.executor.id != r.From || r.From == r.Executor {
		return false, nil
	}
	g.outputs.set(s, r.Map, r.Executor, r.Host)
	if o.isAvailable {
		return true, nil
	}
	return true, g.schedule()
}
