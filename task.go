package bobbin

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/storage"
)

// ErrCommitDenied is the error that a task attempt returns if another attempt of the same task is
// committing or has committed its output. This error does not count as a failure of the task. If
// the other attempt fails, the driver starts the task again.
var ErrCommitDenied = function.ErrCommitDenied

// errNoTask is the error of methods that need the executor, if the Task does not run on an
// executor, as in a unit test.
var errNoTask = errors.New("the task does not run on an executor")

// Task is one attempt of a task. Task is also the context for the functions that the task function
// calls. This context ends when the attempt is killed; [context.Cause] then returns the reason.
//
// Go cannot stop a function from outside. If a task function still runs when
// task.reaper.killTimeout has passed since its attempt was killed, the executor accepts no more
// tasks, and the driver replaces the executor once the executor's other tasks have ended. Before a
// task function returns, it should end the goroutines that it has started. The executor's log names
// the goroutines that still run.
type Task struct {
	context.Context
	call function.Call
}

// NewTask returns the Task of an attempt. It is for packages of bobbin that register task functions
// without [Func].
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

// Attempt returns the number of this attempt among the attempts of the task, counted from 0.
func (t *Task) Attempt() int { return t.call.AttemptNumber }

// CPUs returns how many cores the task may use.
func (t *Task) CPUs() int { return t.call.CPUs }

// ExecutorID returns the id of the executor that runs the attempt.
func (t *Task) ExecutorID() string { return t.call.ExecutorID }

// Host returns the name of the host that runs the attempt, as the cluster manager spells it.
func (t *Task) Host() string { return t.call.Host }

// Resources returns the addresses that the task may use of its executor's resources, by resource
// name, such as {"gpu": {"1"}}. nil means none. See [Resource].
func (t *Task) Resources() map[string][]string { return t.call.Resources }

// Files returns the file systems: HDFS and the executor's local disk.
func (t *Task) Files() *storage.Files { return storage.From(t.Context) }

// SharedValue returns the value of the job's option [Shared]. Each call decodes the value again, so
// the caller may modify the result.
func SharedValue[T any](t *Task) (T, error) { return codec.Decode[T](t.call.Shared) }

// Hold tells the driver that this executor stores data for later tasks under a key. With dynamic
// allocation, the driver does not stop an idle executor that holds a key until [Session.Release] is
// called with the key. If dynamicAllocation.cachedExecutorIdleTimeout is set, the driver stops the
// executor after it has been idle for that time. Hold itself stores nothing: the program stores the
// data, which is lost with the executor. A second Hold of the same key has no effect.
func (t *Task) Hold(key string) {
	if t.call.Hold != nil {
		t.call.Hold(key)
	}
}

// CanCommit asks the driver whether this attempt may make its output visible. The driver allows
// only one attempt of a task at a time to do so. If that attempt fails or is lost, the driver may
// allow another attempt, such as a speculative copy. If CanCommit returns false, the task function
// must return [ErrCommitDenied].
func (t *Task) CanCommit(ctx context.Context) (bool, error) {
	if t.call.Driver == nil {
		return false, errNoTask
	}
	return t.call.Driver.CanCommit(ctx)
}

// CommitOutput calls commit if the driver allows this attempt to make its output visible (see
// [Task.CanCommit]), and otherwise returns [ErrCommitDenied]. The task function should return the
// error:
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

// Barrier waits until every task of the job has called Barrier as many times as this task has. The
// job must have the option [Barrier]. Barrier fails if a task of the job has already ended, if ctx
// ends, or if this task is killed, for example because another task failed. After a failure, all
// further calls by this task fail.
func (t *Task) Barrier(ctx context.Context) error {
	if t.call.Driver == nil {
		return errNoTask
	}
	return t.call.Driver.Barrier(ctx)
}

// BarrierTask is the executor and the host of one task of a job with the option [Barrier].
type BarrierTask struct {
	ExecutorID string
	Host       string
}

// BarrierTasks returns the executors and hosts of the job's tasks in the order of the inputs. It
// returns nil if the job does not have the option [Barrier].
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
