package stage

import "fmt"

// Action is what the owner of a [Graph] must do: a [Plan], [Run], [Drain], [Abort],
// [RolledBack], [JobDone] or [JobFailed].
type Action interface{ action() }

// Plan asks for the number of the stage's tasks, now that the outputs of all its
// parents are there. Answer with [Graph.Planned]. Only the latest Plan of a stage
// counts: if outputs of a parent are lost before the answer, the answer is ignored
// and the stage is planned again later.
type Plan struct{ Stage StageID }

// Run starts an attempt of the stage: run these tasks. At this moment, the outputs
// of all parents of the stage are there.
type Run struct {
	Stage StageID
	// Attempt identifies the attempt. No other attempt of any stage has the same.
	Attempt uint64
	// Tasks are the indexes of the tasks to run, in ascending order. These are the tasks
	// that have no result and that no other attempt still runs.
	Tasks []int
	// Priority is the priority of the attempt. Its Job is the first job that needs the stage.
	Priority Priority
}

// Priority orders attempts: by job, then by stage, lower numbers first. Stages are
// numbered as they become known, parents before the stages that read them.
type Priority struct {
	Job   JobID
	Stage uint64
}

// Drain asks to start no more tasks of an attempt, because outputs that they read are
// lost. Tasks that run may continue: they fail if they read a lost output, and
// otherwise their results count. Report their ends, then call [Graph.SetEnded]. Stopping
// the tasks that run, or starting all other tasks, is also correct, but slower.
type Drain struct {
	Stage   StageID
	Attempt uint64
}

// Abort asks to stop all tasks of an attempt. Later reports about it are ignored.
type Abort struct {
	Stage   StageID
	Attempt uint64
	Reason  string
}

// RolledBack reports that all outputs of a map stage were dropped because output that
// the stage has read, directly or through other stages, has changed. Its tasks run
// again if a job needs them.
type RolledBack struct{ Stage StageID }

// JobDone reports that all tasks of the job's result stage have results. It is the
// last action of the job.
type JobDone struct{ Job JobID }

// JobFailed reports that the job has failed or was cancelled. Err is a [*FetchError],
// a [*ChangedError], or the error that was given to [Graph.SetEnded] or
// [Graph.Cancel]. It is the last action of the job.
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

// The reasons of [Abort].
const (
	notNeeded      = "no job needs it"
	outputsChanged = "what its tasks have read has changed"
	outputsLost    = "what its tasks read is lost and may change when it is made again"
	released       = "its shuffle was released"
)

// FetchError is the error of jobs that fail because they need a stage of which too many
// attempts in a row had fetch failures.
type FetchError struct {
	Stage    StageID
	Attempts int       // how many attempts in a row had fetch failures
	Shuffle  ShuffleID // the shuffle of the output that could not be read last
	Map      int       // the map task of that output
}

// Error describes the failure in one line.
func (e *FetchError) Error() string {
	return fmt.Sprintf("the %s could not read the outputs of its parents in %d attempts in a row, last that of map task %d of shuffle %d",
		e.Stage, e.Attempts, e.Map, e.Shuffle)
}

// ChangedError is the error of a job that fails because map output changed: results that
// the job has received were computed from the output, which was then lost, made again,
// and is now different.
type ChangedError struct {
	Stage   StageID // the map stage that is not deterministic
	Map     int     // its task that ran again
	Results int     // how many tasks of the job's result stage had results
}

// Error describes the failure in one line.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("the %s is not deterministic: its task %d ran again, as its output was lost, and has other output than before, which %d results of the job were computed from",
		e.Stage, e.Map, e.Results)
}
