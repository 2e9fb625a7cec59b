package bobbin

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/storage"
)

// ErrCommitDenied is the error that an attempt of a task returns if another attempt of the
// task is committing or has committed its output. Returning it does not count as a failure
// of the task. If the other attempt fails, the task runs again.
var ErrCommitDenied = function.ErrCommitDenied

// errNoTask is returned by methods that need an executor if the Task does not run on one, as
// in a unit test.
var errNoTask = errors.New("the task does not run on an executor")

// Task is one attempt of a task. It is also the context that the task function should pass
// to the functions it calls. This context ends when the attempt is killed; [context.Cause]
// then returns why.
//
// Go cannot stop a function from outside. If a function does not return within
// task.reaper.killTimeout after its attempt was killed, its executor is replaced
// once the executor's other tasks have ended. Goroutines that a function starts
// should end before it returns; the executor's log names those that do not.
type Task struct {
	context.Context
	call function.Call
}

// NewTask returns the Task of an attempt, for packages of bobbin that register task
// functions themselves.
func NewTask(ctx context.Context, call function.Call) *Task { return &Task{Context: ctx, call: call} }

// Value implements [context.Context]. Package storage uses it to count the bytes
// that the task reads and writes.
func (t *Task) Value(key any) any {
	if _, ok := key.(storage.UsageKey); ok && t.call.Usage != nil {
		return t.call.Usage
	}
	return t.Context.Value(key)
}

// Index returns the index of the task's input among the inputs of its job.
func (t *Task) Index() int { return t.call.Index }

// Attempt returns the number of this attempt among those of the task, from 0.
func (t *Task) Attempt() int { return t.call.AttemptNumber }

// CPUs returns how many cores the task may use.
func (t *Task) CPUs() int { return t.call.CPUs }

// ExecutorID returns the id of the executor that runs the attempt.
func (t *Task) ExecutorID() string { return t.call.ExecutorID }

// Host returns the host that runs the attempt, as the cluster manager names it.
func (t *Task) Host() string { return t.call.Host }

// Resources returns the addresses of resources that the task may use, by
// resource name, such as {"gpu": {"1"}}; nil if there are none. See [Resource].
func (t *Task) Resources() map[string][]string { return t.call.Resources }

// Files returns the file systems: HDFS and the executor's local disk.
func (t *Task) Files() *storage.Files { return storage.From(t.Context) }

// SharedValue returns the value of the job's option [Shared]. Each call decodes
// it again, so the caller may change the result.
func SharedValue[T any](t *Task) (T, error) { return codec.Decode[T](t.call.Shared) }

// Hold tells the driver that this executor keeps data under a key for later
// tasks. With dynamic allocation, an idle executor that holds a key is not
// stopped until [Session.Release] is called with the key, or until it was idle
// for dynamicAllocation.cachedExecutorIdleTimeout, if that is set. Hold stores
// nothing: the program itself keeps the data, which is lost with the executor.
// Holding a key twice is the same as once.
func (t *Task) Hold(key string) {
	if t.call.Hold != nil {
		t.call.Hold(key)
	}
}

// CanCommit asks the driver whether this attempt may make its output visible. At any time
// only one attempt of a task may do so. If that attempt fails or is lost, the driver allows
// another one, such as a speculative copy. If CanCommit returns false, the attempt must
// return [ErrCommitDenied] instead of a result.
func (t *Task) CanCommit(ctx context.Context) (bool, error) {
	if t.call.Driver == nil {
		return false, errNoTask
	}
	return t.call.Driver.CanCommit(ctx)
}

// CommitOutput calls commit if this attempt may make its output visible, and
// otherwise returns [ErrCommitDenied]. The task should return the error:
//
//	return n, task.CommitOutput(part.Commit)
func (t *Task) CommitOutput(commit func() error) error {
	allowed, err := t.CanCommit(t)
	switch {
	case err != nil:
		return err
	case !allowed:
		return ErrCommitDenied
	}
	return commit()
}

// Barrier waits until every task of the job has called Barrier as many times as this task
// has. The job must have the option [Barrier]. Barrier fails if a task has already ended, if
// ctx ends, or if this task is killed, for example because another task failed. After one
// failure, all further calls by this task fail.
func (t *Task) Barrier(ctx context.Context) error {
	if t.call.Driver == nil {
		return errNoTask
	}
	return t.call.Driver.Barrier(ctx)
}

// BarrierTask says where a task of a job with the option [Barrier] runs.
type BarrierTask struct {
	ExecutorID string
	Host       string
}

// BarrierTasks says where the tasks of the job run, in the order of their
// inputs; nil if the job does not have the option [Barrier].
func (t *Task) BarrierTasks() []BarrierTask {
	if t.call.Driver == nil {
		return nil
	}
	var tasks []BarrierTask
	for _, peer := range t.call.Driver.Peers() {
		tasks = append(tasks, BarrierTask{ExecutorID: peer.ExecutorID, Host: peer.Host})
	}
	return tasks
}
