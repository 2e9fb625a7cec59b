package scheduler

// Event is something that the owner of a scheduler must act upon: [TaskDone],
// [TaskRetry], [TaskSetDone], [TaskSetFailed] or [KillAttempt].
type Event interface{ event() }

// TaskDone says that a task has its result: the one of this attempt. It comes
// once for each task.
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

// KillAttempt asks for an attempt to be stopped. It holds its cores until it
// is reported to Finished.
type KillAttempt struct {
	Attempt  AttemptID
	Executor string
	Reason   string
}

func (TaskDone) event()      {}
func (TaskRetry) event()     {}
func (TaskSetDone) event()   {}
func (TaskSetFailed) event() {}
func (KillAttempt) event()   {}
