package stage

import (
	"fmt"
	"slices"
)

// JobID identifies a job. It is not 0. The caller never uses an ID again.
type JobID uint64

// ShuffleID identifies a shuffle. It is not 0.
type ShuffleID uint64

// StageID identifies a stage: the map stage of a shuffle, in which case Job is 0, or the
// result stage of a job, in which case Shuffle is 0.
type StageID struct {
	Shuffle ShuffleID
	Job     JobID
}

// String returns the stage as errors name it.
func (id StageID) String() string {
	if id.Job != 0 {
		return fmt.Sprintf("result stage of job %d", id.Job)
	}
	return fmt.Sprintf("map stage of shuffle %d", id.Shuffle)
}

// unplanned is the number of tasks of a stage that has not been planned.
const unplanned = -1

// stage is a map stage or a result stage. A map stage is known as long as a job
// refers to it, any of its outputs is there, or a stage that reads it is known.
type stage struct {
	id       StageID
	number   uint64
	parents  []*stage // the map stages that it reads
	children []*stage // the stages that read it
	jobs     int      // jobs that refer to it, whether or not they need it now
	// stable is set if the stage, and all stages that it reads directly or through other
	// stages, promise to make the same output each time; see ShuffleSpec.Determinate.
	stable bool

	tasks   int         // number of tasks, or unplanned
	missing int         // tasks without a result; 0 if unplanned
	outputs []mapOutput // of a map stage, by task
	results bitset      // of a result stage: the tasks that have results
	// generation is the value of outputLocations.generation at the latest change of outputs.
	generation uint64

	asked    bool       // a Plan waits for its answer
	attempts []*attempt // live attempts
	lost     bool       // outputs were lost with their executor, and run was not called since
	// fetchFailures is the number of attempts in a row that had a fetch failure,
	// without any result in between.
	fetchFailures int
	silent        silentExecutors // executors that did not answer in the attempts that fetchFailures counts
	// visited is the pass of schedule in which a job needed the stage.
	visited uint64
}

// attempt is a live attempt: it was not aborted, its task set has not ended, and it has
// tasks whose ends were not reported.
type attempt struct {
	stage        *stage
	number       uint64
	pending      bitset // tasks whose ends were not reported
	pendingCount int    // number of tasks in pending
	drained      bool   // the attempt starts no more tasks
	failed       bool   // a fetch failure of the attempt was counted
}

func (s *stage) forgetFetchFailures() { s.fetchFailures, s.silent = 0, nil }

// silentExecutors has the executors that did not answer, by host.
type silentExecutors map[string]map[string]bool

// add adds an executor, and reports whether this counts as a failure. It counts if the
// executor was added before, or if it is the first on its host. It does not count if only
// other executors of the host were added before: the host is then probably lost, and its
// executors are found not to answer one after the other.
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

// done returns how many tasks have results.
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

// isMissing reports whether the task has no result.
func (s *stage) isMissing(task int) bool {
	if s.id.Job != 0 {
		return !s.results.has(task)
	}
	return !s.outputs[task].isAvailable
}

// waiting returns the tasks that have no result, and that no attempt will run.
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

// running reports whether an attempt of the stage may start tasks.
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
