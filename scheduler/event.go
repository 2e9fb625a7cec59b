package scheduler

import "time"

// Event is something that the owner of a scheduler must act on: [TaskDone],
// [AttemptEnded], [TaskSetDone], [TaskSetFailed], [TaskSetAborted],
// [TaskSetUnschedulable], [KillAttempt], [Recall], [Excluded], [ExclusionEnded] or
// [KillExecutor].
type Event interface{ event() }

// TaskDone reports, once for each task, that Attempt has produced the task's result. The
// events of a barrier set are returned together when its last task has a result. So keep
// the result of each attempt until its TaskDone or AttemptEnded.
type TaskDone struct {
	TaskSet uint64
	Index   int
	Attempt AttemptID
}

// AttemptEnded reports that an attempt ended without a result. Its task waits to be
// retried, unless another attempt of the task runs.
type AttemptEnded struct {
	TaskSet  uint64
	Index    int
	Attempt  AttemptID
	Failures int // how many attempts of the task count as failures
	Reason   string
}

// TaskSetDone is the last event of a set: all its tasks have results.
type TaskSetDone struct {
	TaskSet uint64
}

// TaskSetFailed reports that a task has failed too often, which ends its set. After it, the
// set causes only a [KillAttempt] for each of its other attempts.
type TaskSetFailed struct {
	TaskSet uint64
	// Index is the index of the task that failed, Attempt the id of its last attempt.
	Index        int
	Attempt      AttemptID
	FailureCount int    // how many attempts of the task count as failures
	Reason       string // reason of the latest failure
}

// TaskSetUnschedulable reports that a set cannot continue with the present executors.
type TaskSetUnschedulable struct {
	TaskSet      uint64
	Index        int // index of a task that no executor may run; -1 means all tasks
	Reason       string
	Until        time.Time // when the set is aborted, unless it can continue by then
	IdleExecutor string    // id of an excluded idle executor that could be replaced; "" if there is none
}

// TaskSetAborted reports that a set was ended because it had been unable to continue
// for too long. After it, the set causes only a [KillAttempt] for each of its attempts.
type TaskSetAborted struct {
	TaskSet uint64
	Reason  string
}

// Excluded reports that an executor, or a whole node if Executor is "", gets no
// more tasks: none at all if Application is set, else none of the task set.
type Excluded struct {
	Application bool
	TaskSet     uint64 // 0 if Application is true
	Executor    string
	Host        string
	Failures    int       // number of failed tasks on the executor, or of excluded executors on the node
	Until       time.Time // when an exclusion for the application ends
}

// ExclusionEnded reports that an executor, or a node if Executor is "", is no
// longer excluded for the application.
type ExclusionEnded struct {
	Executor string
	Host     string
}

// KillExecutor asks the owner to kill an executor that is excluded for the
// application. The loss of the executor does not count as a failure.
type KillExecutor struct {
	Executor string
	Reason   string
}

// KillAttempt asks the owner to stop an attempt. The attempt uses its cores until
// its end is reported to Finished.
type KillAttempt struct {
	Attempt  AttemptID
	Executor string
	Reason   string
}

// Recall asks an executor to return the attempts that it has queued, with the result
// [ResultRecalled], because the executor must run no more tasks, or because tasks of
// another set must run before these attempts.
type Recall struct {
	Executor string
}

func (TaskDone) event()             {}
func (AttemptEnded) event()         {}
func (TaskSetDone) event()          {}
func (TaskSetFailed) event()        {}
func (KillAttempt) event()          {}
func (Recall) event()               {}
func (TaskSetUnschedulable) event() {}
func (TaskSetAborted) event()       {}
func (Excluded) event()             {}
func (ExclusionEnded) event()       {}
func (KillExecutor) event()         {}
