package stage

import (
	"cmp"
	"fmt"
	"slices"
)

// Config configures a graph.
type Config struct {
	// MaxFetchFailures is how many attempts in a row of a stage may have fetch failures,
	// without any result in between, before the jobs that need the stage fail. 0 means 4.
	MaxFetchFailures int
}

// ShuffleSpec describes a shuffle and the map stage that writes it.
type ShuffleSpec struct {
	ID    ShuffleID
	Reads []ShuffleID // the shuffles that the map stage reads
	// Determinate promises that the map stage writes the same output whenever it reads the same
	// input. The graph verifies this by checksums. If a lost output will be the same when it
	// is computed again, the attempts that read it drain. If the output may differ, these
	// attempts are aborted.
	Determinate bool
}

// Graph is the state of all jobs, stages and shuffles. It is not safe for concurrent use. Its
// methods ignore reports that are late or repeated, or whose job, stage or attempt has ended.
type Graph struct {
	config   Config
	jobs     []*job // in the order of their submission
	maps     map[ShuffleID]*stage
	results  map[JobID]*stage
	attempts map[uint64]*attempt
	outputs  outputLocations

	awaitingPlan map[*stage]struct{} // stages for which a Plan was returned and Planned was not called yet
	unused       []*stage            // stages that may have to be removed; see forgetUnused
	actions      []Action

	lastStage, lastAttempt uint64
	pass                   uint64 // number of the latest call of schedule
}

// job is a job that has not ended.
type job struct {
	id     JobID
	result *stage
	stages []*stage // all stages that the job refers to, parents first; the last element is result
}

// New returns a graph without jobs.
func New(config Config) *Graph {
	config.MaxFetchFailures = cmp.Or(config.MaxFetchFailures, 4)
	return &Graph{
		config:       config,
		maps:         make(map[ShuffleID]*stage),
		results:      make(map[JobID]*stage),
		attempts:     make(map[uint64]*attempt),
		outputs:      newLocations(),
		awaitingPlan: make(map[*stage]struct{}),
	}
}

// Submit adds a job. The parameter reads lists the shuffles that the job's result stage reads.
// The parameter shuffles describes these shuffles and all shuffles from which they are
// computed, but may omit shuffles that the graph contains already. Descriptions of other
// shuffles are ignored. Submit fails, and changes nothing, if the graph contains the job, or if
// a shuffle is not described, is described differently than before, or is computed from itself.
func (g *Graph) Submit(id JobID, reads []ShuffleID, shuffles []ShuffleSpec) ([]Action, error) {
	if id == 0 || g.results[id] != nil {
		return nil, fmt.Errorf("job %d is submitted already, or is 0", id)
	}
	specs := make(map[ShuffleID]ShuffleSpec, len(shuffles))
	for _, spec := range shuffles {
		specs[spec.ID] = spec
	}
	order, err := g.order(reads, specs)
	if err != nil {
		return nil, fmt.Errorf("job %d: %w", id, err)
	}
	for _, shuffle := range order {
		if g.maps[shuffle] == nil {
			spec := specs[shuffle]
			s := g.addStage(StageID{Shuffle: shuffle}, spec.Reads)
			s.stable = spec.Determinate && !slices.ContainsFunc(s.parents, func(p *stage) bool { return !p.stable })
			g.maps[shuffle] = s
		}
	}
	j := &job{id: id, result: g.addStage(StageID{Job: id}, reads)}
	j.stages = withAncestors(j.result)
	for _, s := range j.stages {
		s.jobs++
	}
	g.results[id] = j.result
	g.jobs = append(g.jobs, j)
	return g.schedule(), nil
}

// order returns the shuffles that the parameter reads lists, and their ancestors, which are the
// shuffles from which they are computed. Each shuffle comes after its ancestors. order omits the
// ancestors of shuffles that the graph contains.
func (g *Graph) order(reads []ShuffleID, specs map[ShuffleID]ShuffleSpec) ([]ShuffleID, error) {
	var order []ShuffleID
	const (
		begun = iota + 1
		finished
	)
	state := make(map[ShuffleID]int)
	var visit func(id ShuffleID) error
	visit = func(id ShuffleID) error {
		spec, described := specs[id]
		known := g.maps[id]
		switch {
		case state[id] == finished:
			return nil
		case state[id] == begun:
			return fmt.Errorf("shuffle %d is made from itself", id)
		case id == 0 || known == nil && !described:
			return fmt.Errorf("shuffle %d is not described", id)
		case known != nil && described && !slices.Equal(unique(spec.Reads), known.reads()):
			return fmt.Errorf("shuffle %d reads %d, and %d when it was first described", id, unique(spec.Reads), known.reads())
		}
		if known == nil {
			state[id] = begun
			for _, parent := range spec.Reads {
				if err := visit(parent); err != nil {
					return err
				}
			}
		}
		state[id] = finished
		order = append(order, id)
		return nil
	}
	for _, id := range reads {
		if err := visit(id); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// unique returns the ids in ascending order without duplicates.
func unique(ids []ShuffleID) []ShuffleID { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// reads returns the shuffles that the stage reads, in ascending order.
func (s *stage) reads() []ShuffleID {
	var ids []ShuffleID
	for _, parent := range s.parents {
		ids = append(ids, parent.id.Shuffle)
	}
	return ids
}

func (g *Graph) addStage(id StageID, reads []ShuffleID) *stage {
	g.lastStage++
	s := &stage{id: id, number: g.lastStage, tasks: unplanned}
	for _, shuffle := range unique(reads) {
		parent := g.maps[shuffle]
		s.parents = append(s.parents, parent)
		parent.children = append(parent.children, s)
	}
	return s
}

// withAncestors returns s and all stages from which it is computed, parents first.
func withAncestors(s *stage) []*stage {
	var order []*stage
	seen := make(map[*stage]bool)
	var visit func(s *stage)
	visit = func(s *stage) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, parent := range s.parents {
			visit(parent)
		}
		order = append(order, s)
	}
	visit(s)
	return order
}

// Cancel ends a job with a [JobFailed] whose error is reason.
func (g *Graph) Cancel(id JobID, reason error) []Action {
	g.endJobs(JobFailed{Err: reason}, func(j *job) bool { return j.id == id })
	return g.schedule()
}

// endJobs ends the selected jobs. For each of them, it adds the given JobFailed action with the
// job's id.
func (g *Graph) endJobs(failed JobFailed, selected func(*job) bool) {
	g.jobs = slices.DeleteFunc(g.jobs, func(j *job) bool {
		if !selected(j) {
			return false
		}
		failed.Job = j.id
		g.addAction(failed)
		g.dropJob(j)
		return true
	})
}

// dropJob removes the job's references to its stages.
func (g *Graph) dropJob(j *job) {
	for _, s := range j.stages {
		if s.jobs--; s.jobs == 0 {
			s.forgetFetchFailures()
		}
	}
	g.unused = append(g.unused, j.stages...)
}

// Release drops the outputs of a shuffle. A job that needs them computes them again.
func (g *Graph) Release(shuffle ShuffleID) []Action {
	s := g.maps[shuffle]
	if s == nil {
		return nil
	}
	g.abortAll(s, released)
	for task := range s.outputs {
		g.outputs.drop(s, task)
		s.outputs[task].attempt = 0 // so that later Relocated reports for the output are ignored
	}
	g.unused = append(g.unused, s)
	return g.schedule()
}

// forgetUnused removes each stage to which no job refers, that has no outputs, and that no
// other stage in the graph reads. A stage whose outputs were read stays in the graph as long as
// its readers, so that the graph detects if its outputs have changed when they are computed
// again.
func (g *Graph) forgetUnused() {
	for len(g.unused) > 0 {
		s := g.unused[len(g.unused)-1]
		g.unused = g.unused[:len(g.unused)-1]
		known := g.maps[s.id.Shuffle] == s || g.results[s.id.Job] == s
		if !known || s.jobs > 0 || len(s.children) > 0 || s.id.Job == 0 && s.done() > 0 {
			continue
		}
		delete(g.maps, s.id.Shuffle)
		delete(g.results, s.id.Job)
		for _, parent := range s.parents {
			parent.children = slices.DeleteFunc(parent.children, func(c *stage) bool { return c == s })
			g.unused = append(g.unused, parent)
		}
	}
}
