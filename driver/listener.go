package driver

import "time"

// Listener receives the results of a task set. The driver's event loop calls its methods,
// one after the other. So a method must return at once, and the only method of the driver
// that it may call is [Submission.Release].
type Listener interface {
	// TaskDone receives the result of a task, once for each task. The results of a
	// barrier set are delivered when all its tasks have results.
	TaskDone(Result)
	// TaskFailed receives an attempt that ended without a result. Its task is
	// retried unless the task set ends.
	TaskFailed(TaskFailure)
	// Ended is the last call. err is nil if all tasks have results, else *TaskError,
	// *ResultSizeError, ErrUnschedulable, ErrCancelled, ErrStopped or the argument of
	// Cancel.
	Ended(err error)
}

// Result is the result of one task.
type Result struct {
	Index         int // index of the task
	Value         []byte
	AttemptNumber int // 0 if the task's first attempt succeeded
	ExecutorID    string
	Host          string
	RunTime       time.Duration // how long the task's function ran
}

// FailureReason is why an attempt has no result.
type FailureReason int

const (
	// ReasonFunctionFailed means that the task's function returned an error or panicked,
	// or that the executor could not call it. It counts as a failure of the task,
	// unless the driver denied the attempt its commit.
	ReasonFunctionFailed FailureReason = iota
	// ReasonExecutorLost means that the executor was lost while it ran the task, queued
	// it or stored its result. If the task was running, the loss counts as a
	// failure of the task, unless the executor was decommissioning or the cluster
	// manager reports, maybe later, that the loss does not count.
	ReasonExecutorLost
	// ReasonAttemptKilled means that the driver killed the attempt, which is no failure.
	ReasonAttemptKilled
)

// TaskFailure is an attempt without a result.
type TaskFailure struct {
	Index         int // index of the task
	AttemptNumber int
	ExecutorID    string
	Host          string
	Reason        FailureReason
	Message       string
	Stack         string // stack trace, if the function panicked
	Failures      int    // how many failures of the task count so far
}

// ExecutorListener is notified when executors register, begin to leave and are lost. The
// driver's event loop calls it, with the same rules as for a [Listener].
type ExecutorListener interface {
	// ExecutorAdded receives an executor that has registered.
	ExecutorAdded(ExecutorInfo)
	// ExecutorDecommissioned receives an executor that is being decommissioned and gets no
	// further tasks. If the method returns true, the executor is told to stop only after
	// Driver.EndHandover, so that the listener can move data that the executor stores. The
	// deadline of the decommission still applies. If the executor runs tasks now, which may
	// store more, the method is called again when it runs none.
	ExecutorDecommissioned(ExecutorInfo) (handsOver bool)
	// ExecutorLost receives an executor that is lost, with all blocks that it stored, and
	// the reason. An executor that reconnects is reported as lost, then as added.
	ExecutorLost(executor ExecutorInfo, reason string)
}

// ExecutorInfo is an executor as it registered.
type ExecutorInfo struct {
	ID      string
	Host    string
	Cores   int
	Profile int // id of its resource profile
	// DataAddress is the host:port at which it serves its blocks; "" if it does not.
	DataAddress string
	// NodeLeaves is set in ExecutorDecommissioned if the executor's node leaves the cluster,
	// with all that it stores.
	NodeLeaves bool
}

// Listen reports registered executors, then each change, until stop is called. When stop
// returns, the listener is not called any more, and its hand-overs have ended.
func (d *Driver) Listen(listener ExecutorListener) (stop func()) {
	d.do(func(l *loop) { l.addListener(listener) })
	return func() { ask(d, func(l *loop) struct{} { l.removeListener(listener); return struct{}{} }) }
}
