package scheduler

import "time"

// Event is something that the owner of a scheduler must act upon: [TaskDone],
// [TaskRetry], [CopyEnded], [TaskSetDone], [TaskSetFailed], [TaskSetAborted],
// [TaskSetUnschedulable], [KillAttempt], [Recall], [Excluded], [ExclusionEnded] or
// [KillExecutor].
type Event interface{ event() }

// TaskDone says that a task has its result: the one of this attempt. It comes
// once for each task; for the tasks of a barrier set all at its end, so that the
// results of its attempts are to be kept until TaskDone or TaskRetry comes.
type TaskDone struct {
	TaskSet uint64
	Index   int
	Attempt AttemptID
}

// TaskRetry says that an attempt ended without a result, and that its task
// waits to be tried again.
type TaskRetry struct {
	TaskSet uint64
	Index   int
	Attempt AttemptID
	// Failures is how many attempts of the task have failed so far, of those
	// that count.
	Failures int
	Reason   string
}

// CopyEnded says that an attempt ended without a result while another attempt of
// its task runs.
type CopyEnded struct {
	TaskSet uint64
	Index   int
	Attempt AttemptID
	// Failures and Reason are as in TaskRetry.
	Failures int
	Reason   string
}

// TaskSetDone says that all tasks of a set have their results. It is the last
// event of its set.
type TaskSetDone struct {
	TaskSet uint64
	Status  TaskSetStatus
}

// TaskSetFailed says that a task failed as often as its set allows. The set is
// over; the only events of it that follow are a [KillAttempt] for each of its
// other attempts that run.
type TaskSetFailed struct {
	TaskSet uint64
	// Index and Attempt are the task that failed and its latest attempt.
	Index   int
	Attempt AttemptID
	// Failures is how many attempts of the task failed.
	Failures int
	// Reason is that of the latest failure.
	Reason string
	Status TaskSetStatus
}

// TaskSetUnschedulable says that a set cannot go on with the executors that
// there are. It is aborted unless there are others in time.
type TaskSetUnschedulable struct {
	TaskSet uint64
	// Index is a task that may run nowhere, -1 where it is all of them.
	Index  int
	Reason string
	// Until is when the set is aborted.
	Until time.Time
	// IdleExecutor is an excluded executor that does nothing, which may be given up
	// so that another comes in its place; "" where there is none.
	IdleExecutor string
}

// TaskSetAborted says that a set ended because it could not go on. As after
// TaskSetFailed, only a [KillAttempt] for each of its attempts follows.
type TaskSetAborted struct {
	TaskSet uint64
	Reason  string
	Status  TaskSetStatus
}

// Excluded says that an executor, or a whole node where Executor is "", is given
// no more tasks: those of a set, or any at all where it is for the application.
type Excluded struct {
	Application bool
	// TaskSet is the set that it is for; 0 where it is for the application.
	TaskSet  uint64
	Executor string
	Host     string
	// Failures is how many tasks failed on the executor, or how many executors of
	// the node are excluded.
	Failures int
	// Until is when an exclusion for the application ends.
	Until time.Time
}

// ExclusionEnded says that an exclusion for the application is over, of an executor
// or, where that is "", of a node.
type ExclusionEnded struct {
	Executor string
	Host     string
}

// KillExecutor asks for the end of an executor that is excluded for the
// application. Its loss does not count.
type KillExecutor struct {
	Executor string
	Reason   string
}

// KillAttempt asks for an attempt to be stopped. It holds its cores until it
// is reported to Finished.
type KillAttempt struct {
	Attempt  AttemptID
	Executor string
	Reason   string
}

// Recall asks an executor to give back, as [Recalled], the attempts that wait
// there for a core: it is to run no further task, or another set has a right to
// its cores.
type Recall struct {
	Executor string
}

func (TaskDone) event()             {}
func (TaskRetry) event()            {}
func (TaskSetDone) event()          {}
func (TaskSetFailed) event()        {}
func (KillAttempt) event()          {}
func (Recall) event()               {}
func (CopyEnded) event()            {}
func (TaskSetUnschedulable) event() {}
func (TaskSetAborted) event()       {}
func (Excluded) event()             {}
func (ExclusionEnded) event()       {}
func (KillExecutor) event()         {}
