package stage

import (
	"fmt"
	"slices"
)

// JobID identifies a job. It must not be 0, and must not be used for another job later.
type JobID uint64

// ShuffleID identifies a shuffle. It must not be 0.
type ShuffleID uint64

// StageID identifies a stage. For the map stage of a shuffle, Job is 0. For the result stage of
// a job, Shuffle is 0.
type StageID struct {
	Shuffle ShuffleID
	Job     JobID
}

// String returns the name of the stage in error messages.
func (id StageID) String() string {
	if id.Job != 0 {
		return fmt.Sprintf("result stage of job %d", id.Job)
	}
	return fmt.Sprintf("map stage of shuffle %d", id.Shuffle)
}

// unplanned is the value of stage.tasks before the call of [Graph.Planned].
const unplanned = -1

// stage is a map stage or a result stage. The graph forgets a map stage when no job refers to
// it, none of its outputs exists, and no stage that the graph contains reads it.
type stage struct {
	id       StageID
	number   uint64
	parents  []*stage // the map stages whose outputs it reads
	children []*stage // the stages that read its outputs
	jobs     int      // number of jobs that refer to it, whether or not they need it now
	// stable is set if ShuffleSpec.Determinate is set for the stage and for all stages that it
	// reads, directly or through other stages.
	stable bool

	tasks   int         // number of tasks, or unplanned
	missing int         // number of tasks without a result; 0 if unplanned
	outputs []mapOutput // outputs of a map stage, by task
	results bitset      // for a result stage, the tasks that have results
	// generation is the value of outputLocations.generation at the latest change of outputs.
	generation uint64

	asked    bool       // a Plan was returned, and Planned was not called yet
	attempts []*attempt // live attempts
	lost     bool       // outputs were lost with their executor, and no attempt was started since
	// fetchFailures is the number of attempts in a row that had a fetch failure, without any
	// result in between.
	fetchFailures int
	silent        silentExecutors // executors that did not respond in the attempts that fetchFailures counts
	// visited is the number of the latest call of schedule in which a job needed the stage.
	visited uint64
}

// attempt is a live stage attempt: it has not been aborted, its task set has not ended, and the
// ends of some of its tasks have not been reported.
type attempt struct {
	stage        *stage
	number       uint64
	pending      bitset // tasks whose ends have not been reported
	pendingCount int    // number of tasks in pending
	drained      bool   // a Drain was returned for the attempt
	failed       bool   // a fetch failure of the attempt has been counted
}

func (s *stage) forgetFetchFailures() { s.fetchFailures, s.silent = 0, nil }

// silentExecutors is the set of executors that did not respond, by host.
type silentExecutors map[string]map[string]bool

// add adds an executor that did not respond, and reports whether this counts as a fetch
// failure. It counts if the executor is in the set already, or if no executor of its host is.
// It does not count if only other executors of the host are in the set: the host is then
// probably lost, and tasks detect the loss of its executors one after the other.
func (x *silentExecutors) add(e *executor) bool {
	if *x == nil {
		*x = silentExecutors{}
	}
	known := (*x)[e.host]
	if known == nil {
		(*x)[e.host] = map[string]bool{e.id: true}
		return true
	}
	again := known[e.id]
	known[e.id] = true
	return again
}

func (s *stage) complete() bool { return s.tasks != unplanned && s.missing == 0 }

// done returns the number of tasks that have results.
func (s *stage) done() int {
	if s.tasks == unplanned {
		return 0
	}
	return s.tasks - s.missing
}

func (s *stage) plan(tasks int) {
	s.asked, s.tasks, s.missing = false, tasks, tasks
	if s.id.Job != 0 {
		s.results = newBitset(tasks)
	} else {
		s.outputs = make([]mapOutput, tasks)
	}
}

func (s *stage) isMissing(task int) bool {
	if s.id.Job != 0 {
		return !s.results.has(task)
	}
	return !s.outputs[task].isAvailable
}

// waiting returns the tasks that have no result and that no live attempt will run.
func (s *stage) waiting() []int {
	running := newBitset(s.tasks)
	for _, a := range s.attempts {
		if !a.drained {
			running.addAll(a.pending)
		}
	}
	var tasks []int
	for task := range s.tasks {
		if s.isMissing(task) && !running.has(task) {
			tasks = append(tasks, task)
		}
	}
	return tasks
}

// running reports whether an attempt of the stage exists that is not drained.
func (s *stage) running() bool {
	return slices.ContainsFunc(s.attempts, func(a *attempt) bool { return !a.drained })
}

// bitset is a set of small integers.
type bitset []uint64

func newBitset(size int) bitset { return make(bitset, (size+63)/64) }

func (b bitset) has(i int) bool {
	return i >= 0 && i/64 < len(b) && b[i/64]&(1<<(i%64)) != 0
}

func (b bitset) addAll(other bitset) {
	for i, word := range other {
		b[i] |= word
	}
}

func (b bitset) add(i int)    { b[i/64] |= 1 << (i % 64) }
func (b bitset) remove(i int) { b[i/64] &^= 1 << (i % 64) }
