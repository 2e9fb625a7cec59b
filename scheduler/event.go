package scheduler

import "time"

// Event is an event on which the owner of a scheduler must act. Its type is [TaskDone],
// [AttemptEnded], [TaskSetDone], [TaskSetFailed], [TaskSetAborted], [TaskSetUnschedulable],
// [KillAttempt], [Recall], [Excluded], [ExclusionEnded] or [KillExecutor].
type Event interface{ event() }

// TaskDone reports, once for each task, that Attempt has produced the task's result. The
// TaskDone events of a barrier set are returned together when its last task has a result. So the
// owner must store the result of each attempt until the attempt's TaskDone or AttemptEnded.
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

// TaskSetFailed reports that a task has failed too often and that its set has therefore ended.
// Only [KillAttempt] events follow for the set, one for each of its attempts that have not
// ended.
type TaskSetFailed struct {
	TaskSet uint64
	// Index is the index of the task that failed too often, Attempt the id of its last attempt.
	Index        int
	Attempt      AttemptID
	FailureCount int    // how many attempts of the task count as failures
	Reason       string // reason of the latest failure
}

// TaskSetUnschedulable reports that a set is blocked: all executors are excluded for one of its
// tasks, or the executors cannot run all tasks of a barrier set at once.
type TaskSetUnschedulable struct {
	TaskSet      uint64
	Index        int // index of a task that no executor may run; -1 means all tasks
	Reason       string
	Until        time.Time // when the set is aborted if it is still blocked then
	IdleExecutor string    // id of an excluded executor without attempts, which the owner may replace; "" if there is none
}

// TaskSetAborted reports that a set was blocked for too long and was therefore ended. Only
// [KillAttempt] events follow for the set, one for each of its attempts.
type TaskSetAborted struct {
	TaskSet uint64
	Reason  string
}

// Excluded reports that an executor, or a node if Executor is "", is excluded: for all tasks if
// Application is true, else for the tasks of TaskSet.
type Excluded struct {
	Application bool
	TaskSet     uint64 // 0 if Application is true
	Executor    string
	Host        string
	Failures    int       // number of failed tasks on the executor, or of excluded executors on the node
	Until       time.Time // when the exclusion ends; the zero time if Application is false
}

// ExclusionEnded reports that an executor, or a node if Executor is "", is no
// longer excluded for the application.
type ExclusionEnded struct {
	Executor string
	Host     string
}

// KillExecutor requests that the owner kills an executor that is excluded for the application.
// The loss of the executor does not count as a failure of its tasks.
type KillExecutor struct {
	Executor string
	Reason   string
}

// KillAttempt requests that the owner stops an attempt. The attempt occupies its cores until the
// owner reports its end to [Scheduler.Finished].
type KillAttempt struct {
	Attempt  AttemptID
	Executor string
	Reason   string
}

// Recall requests that an executor returns its queued attempts with the result [ResultRecalled].
// The reason is that the executor must run no more tasks, or that tasks of another set must run
// before these attempts.
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
