package scheduler

// AttemptID names an attempt of a task. IDs count up from 1 over the whole life
// of a scheduler.
type AttemptID uint64

// Outcome is how an attempt ended.
type Outcome struct {
	Result Result
	// Reason is for people: what went wrong, or why the attempt was killed.
	Reason string
	// Counts says of a failed attempt whether it is one of the failures that
	// its set limits.
	Counts bool
}

// Result is the kind of an outcome.
type Result int

// The ways in which an attempt ends.
const (
	// Succeeded: the task has its result.
	Succeeded Result = iota
	// Failed: the task function failed, or the executor could not run it.
	Failed
	// Killed: the attempt was stopped on request. It never counts as failure.
	Killed
)

// Finished frees the cores of an attempt that ended and says what follows: of
// a success [TaskDone] and, after the last, [TaskSetDone]; of any other end
// [TaskRetry], or [TaskSetFailed] after a failure too many. An attempt that is
// not known, because its executor was removed or it was reported before, is
// ignored, and so is the outcome of one whose set is over.
func (s *Scheduler) Finished(id AttemptID, outcome Outcome) []Event { return nil }
