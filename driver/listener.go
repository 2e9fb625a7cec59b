package driver

import "time"

// Listener is told what becomes of a task set that was submitted. The driver's
// event loop calls it, one call after the other: a method must return at once, and
// must not call the driver but for [Submission.Release].
type Listener interface {
	// TaskDone has the result of a task. It is called once for each task; for those
	// of a barrier set when all have their results.
	TaskDone(Result)
	// TaskFailed has an attempt that ended without a result. Its task is tried
	// again, unless the set ends.
	TaskFailed(TaskFailure)
	// Ended is the last call. err is nil if all tasks have their results, else
	// *TaskError, *ResultSizeError, ErrUnschedulable, ErrCancelled, ErrStopped or
	// what Cancel was given.
	Ended(err error)
}

// Result is what one task returned.
type Result struct {
	Index         int // the task's, as Task has it
	Value         []byte
	AttemptNumber int // 0 where the task's first attempt succeeded
	ExecutorID    string
	Host          string
	RunTime       time.Duration // of the function, in the executor
}

// FailureReason is why an attempt has no result.
type FailureReason int

// The reasons of failures.
const (
	// FailedFunction: the task's function returned an error or panicked, or the
	// executor could not call it. It counts, but for a denied commit.
	FailedFunction FailureReason = iota
	// LostExecutor: the executor was lost while the task ran, waited or had its
	// result there. It counts if the task ran, and the loss is a failure by the
	// cluster manager's word, which may come later.
	LostExecutor
	// KilledAttempt: the attempt was ended on request. It does not count.
	KilledAttempt
)

// TaskFailure is an attempt without a result.
type TaskFailure struct {
	Index         int // of the task
	AttemptNumber int
	ExecutorID    string
	Host          string
	Reason        FailureReason
	Message       string
	Stack         string // of a panic
	Failures      int    // of the task so far, of those that count
}

// ExecutorListener is told of executors that come and go. The driver's event
// loop calls it, as it calls a [Listener].
type ExecutorListener interface {
	// ExecutorAdded has an executor that has registered.
	ExecutorAdded(ExecutorInfo)
	// ExecutorLost has an executor that is gone, with all that it kept, and why. One
	// whose connection broke and that registers again is lost and added.
	ExecutorLost(executor ExecutorInfo, reason string)
}

// ExecutorInfo is an executor, as it registered.
type ExecutorInfo struct {
	ID      string
	Host    string
	Cores   int
	Profile int // the id of its resource profile
}

// Listen has a listener told of all executors: first of those that are
// registered, then of what happens. The function that it returns ends that.
func (d *Driver) Listen(listener ExecutorListener) (stop func()) {
	d.do(func(l *loop) {
		l.listeners[listener] = struct{}{}
		for _, e := range l.executors {
			listener.ExecutorAdded(e.info())
		}
	})
	return func() { d.do(func(l *loop) { delete(l.listeners, listener) }) }
}

func (e *executor) info() ExecutorInfo {
	return ExecutorInfo{ID: e.id, Host: e.host, Cores: e.cores, Profile: e.kind.profile.ID}
}
