package driver

import "time"

// Listener receives the results of a task set. The driver's event loop calls its methods, one at
// a time. So the methods must not block, and [Submission.Release] is the only method of the
// driver that they may call.
type Listener interface {
	// TaskDone is called with the result of a task, once for each task. For a barrier set, it is
	// called when all tasks of the set have results.
	TaskDone(Result)
	// TaskFailed is called when an attempt has ended without a result. The task is retried
	// unless the task set ends.
	TaskFailed(TaskFailure)
	// Ended is called once, after all other calls. err is nil if all tasks have results, else
	// *TaskError, *ResultSizeError, ErrUnschedulable, ErrCancelled, ErrStopped or the argument
	// of Submission.Cancel.
	Ended(err error)
}

// Result is the result of one task.
type Result struct {
	Index         int // index of the task
	Value         []byte
	AttemptNumber int // number of the successful attempt; 0 is the task's first attempt
	ExecutorID    string
	Host          string
	RunTime       time.Duration // how long the task's function ran
}

// FailureReason is the reason why an attempt has no result.
type FailureReason int

const (
	// ReasonFunctionFailed means that the task's function returned an error or panicked, or that
	// the executor could not call it. It counts as a failure of the task, except if the driver
	// had denied the attempt permission to commit.
	ReasonFunctionFailed FailureReason = iota
	// ReasonExecutorLost means that the executor was lost while it ran the attempt, had it
	// queued or stored its result. If the attempt was running, the loss counts as a failure of
	// the task. It does not count if the executor was decommissioning, or if the cluster manager
	// reports, before or after the call of TaskFailed, that the loss does not count.
	ReasonExecutorLost
	// ReasonAttemptKilled means that the driver killed the attempt. It does not count as a
	// failure.
	ReasonAttemptKilled
)

// TaskFailure describes an attempt that ended without a result.
type TaskFailure struct {
	Index         int // index of the task
	AttemptNumber int
	ExecutorID    string
	Host          string
	Reason        FailureReason
	Message       string
	Stack         string // stack trace, if the function panicked
	Failures      int    // number of the task's failures so far that count
}

// ExecutorListener is called when executors register, are decommissioned and are lost. The
// driver's event loop calls its methods, with the same rules as for a [Listener].
type ExecutorListener interface {
	// ExecutorAdded is called when an executor has registered.
	ExecutorAdded(ExecutorInfo)
	// ExecutorDecommissioned is called when an executor is being decommissioned, so that no
	// further tasks are launched on it. If the method returns true, the executor is stopped only
	// after Driver.EndHandover, so that the listener can move the data that the executor stores.
	// The deadline of the decommission still applies. If the executor still runs tasks, which
	// may store more data, the method is called again when it runs none.
	ExecutorDecommissioned(ExecutorInfo) (handsOver bool)
	// ExecutorLost is called when an executor is lost, with all blocks that it stored. When an
	// executor reconnects, ExecutorLost is called and then ExecutorAdded.
	ExecutorLost(executor ExecutorInfo, reason string)
}

// ExecutorInfo describes an executor as it registered.
type ExecutorInfo struct {
	ID      string
	Host    string
	Cores   int
	Profile int // id of its resource profile
	// DataAddress is the host:port from which other executors fetch its blocks; "" if it has
	// none.
	DataAddress string
	// NodeLeaves is set in ExecutorDecommissioned if the executor's node leaves the cluster, so
	// that the data on its disks is lost.
	NodeLeaves bool
}

// Listen calls the listener for each registered executor, then for each change, until stop is
// called. After stop has returned, the listener is not called, and its hand-overs have ended.
func (d *Driver) Listen(listener ExecutorListener) (stop func()) {
	d.do(func(l *loop) { l.addListener(listener) })
	return func() { ask(d, func(l *loop) struct{} { l.removeListener(listener); return struct{}{} }) }
}
