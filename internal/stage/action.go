package stage

import "fmt"

// Action is an action that the owner of a [Graph] must carry out: a [Plan], [Run], [Drain],
// [Abort], [RolledBack], [JobDone] or [JobFailed].
type Action interface{ action() }

// Plan requests the number of tasks of a stage. The outputs of all its parents exist. The owner
// must call [Graph.Planned]. If outputs of a parent are lost before this call, the call is
// ignored, and the stage gets another Plan later.
type Plan struct{ Stage StageID }

// Run starts an attempt of a stage. At this time, the outputs of all parents of the stage
// exist.
type Run struct {
	Stage StageID
	// Attempt identifies the attempt among the attempts of all stages.
	Attempt uint64
	// Tasks are the indexes of the tasks to run, in ascending order. They are the tasks that
	// have no result and that no other live attempt will run.
	Tasks []int
	// Priority is the priority of the attempt. Priority.Job is the first job that needs the
	// stage.
	Priority Priority
}

// Priority orders attempts: by job, then by stage, lower numbers first. Stages are numbered in
// the order in which they are added to the graph, parents before their readers.
type Priority struct {
	Job   JobID
	Stage uint64
}

// Drain requests that no more tasks of an attempt are started, because outputs that they read
// are lost. Running tasks may continue: a task fails if it reads a lost output, and otherwise
// its result counts. Report the ends of running tasks, then call [Graph.SetEnded]. Stopping the
// running tasks, or starting all other tasks, is also correct, but slower.
type Drain struct {
	Stage   StageID
	Attempt uint64
}

// Abort requests that all tasks of an attempt are stopped. Later reports about it are ignored.
type Abort struct {
	Stage   StageID
	Attempt uint64
	Reason  string
}

// RolledBack means that all outputs of a map stage were dropped, because an output from which
// they were computed, directly or through other stages, has changed. The stage's tasks run
// again if a job needs them.
type RolledBack struct{ Stage StageID }

// JobDone means that all tasks of the job's result stage have results. It is the last action of
// the job.
type JobDone struct{ Job JobID }

// JobFailed means that the job has failed or was cancelled. Err is a [*FetchError], a
// [*ChangedError], or the error that was passed to [Graph.SetEnded] or [Graph.Cancel]. It is
// the last action of the job.
type JobFailed struct {
	Job JobID
	Err error
}

func (Plan) action()       {}
func (Run) action()        {}
func (Drain) action()      {}
func (Abort) action()      {}
func (RolledBack) action() {}
func (JobDone) action()    {}
func (JobFailed) action()  {}

// Values of Abort.Reason.
const (
	notNeeded      = "no job needs it"
	outputsChanged = "what its tasks have read has changed"
	outputsLost    = "what its tasks read is lost and may change when it is made again"
	released       = "its shuffle was released"
)

// FetchError is the error of jobs that fail because too many attempts in a row of a stage that
// they need had fetch failures.
type FetchError struct {
	Stage    StageID
	Attempts int       // number of attempts in a row with fetch failures
	Shuffle  ShuffleID // the shuffle of the output in the latest fetch failure
	Map      int       // the map task of this output
}

// Error describes the failure in one line.
func (e *FetchError) Error() string {
	return fmt.Sprintf("the %s could not read the outputs of its parents in %d attempts in a row, last that of map task %d of shuffle %d",
		e.Stage, e.Attempts, e.Map, e.Shuffle)
}

// ChangedError is the error of a job that fails because map output changed: results that the
// job has received were computed from an output, which was then lost, computed again, and is
// now different.
type ChangedError struct {
	Stage   StageID // the map stage, which is not deterministic
	Map     int     // the stage's task that ran again
	Results int     // number of tasks of the job's result stage that had results
}

// Error describes the failure in one line.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("the %s is not deterministic: its task %d ran again, as its output was lost, and has other output than before, which %d results of the job were computed from",
		e.Stage, e.Map, e.Results)
}
