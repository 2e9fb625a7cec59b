package bobbin

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/storage"
)

// ErrCommitDenied is the error that a task returns if it may not commit its
// output, because another attempt of it does or did. It does not count as a
// failure: if the other attempt fails, the task is tried again.
var ErrCommitDenied = function.ErrCommitDenied

// errNoTask is the error of tasks that a test has made itself.
var errNoTask = errors.New("the task does not run on an executor")

// Task is one attempt of one task. It is also the context that the task's function
// should pass on: it ends when the attempt is killed, with the reason as its cause.
//
// Go cannot stop a function from outside. One that runs for
// task.reaper.killTimeout longer costs its executor, which is replaced once its
// other tasks have ended. The goroutines that a function starts should end before
// it returns; the executor's log names those that do not.
type Task struct {
	context.Context
	call function.Call
}

// Value returns the value of a key in the executor's context. Package storage uses
// it to count what the task reads and writes.
func (t *Task) Value(key any) any {
	if _, ok := key.(storage.UsageKey); ok && t.call.Usage != nil {
		return t.call.Usage
	}
	return t.Context.Value(key)
}

// Index returns the index of the task's input among the inputs of its job.
func (t *Task) Index() int { return t.call.Index }

// Attempt returns how often this task was tried before: 0 in the first attempt.
func (t *Task) Attempt() int { return t.call.AttemptNumber }

// CPUs returns how many cores the task may use.
func (t *Task) CPUs() int { return t.call.CPUs }

// ExecutorID returns the id of the executor that runs the attempt.
func (t *Task) ExecutorID() string { return t.call.ExecutorID }

// Host returns the name that the cluster has for the node on which the attempt
// runs.
func (t *Task) Host() string { return t.call.Host }

// Resources returns the addresses of the resources that the task may use, by name,
// such as {"gpu": {"1"}}; nil if it asked for none. See [Resource].
func (t *Task) Resources() map[string][]string { return t.call.Resources }

// Files returns HDFS and the executor's local disk.
func (t *Task) Files() *storage.Files { return storage.From(t.Context) }

// SharedValue decodes the value that the job was given by [Shared]. Each call
// decodes it again, so the caller may change the result.
func SharedValue[T any](t *Task) (T, error) { return codec.Decode[T](t.call.Common) }

// Hold declares that this executor keeps data under a key for later tasks. With
// dynamic allocation, an idle executor that holds a key stays until
// [Session.Release] is called with the key, or for
// dynamicAllocation.cachedExecutorIdleTimeout if that is set. Storing and finding
// the data is up to the program, and the data is lost with the executor. Holding a
// key twice has no further effect.
func (t *Task) Hold(key string) {
	if t.call.Hold != nil {
		t.call.Hold(key)
	}
}

// CanCommit asks the driver whether this attempt may make its output visible. Of
// several attempts of a task, speculative copies included, only one may, and
// another only after that one has failed or is lost. A task that may not commit
// must return [ErrCommitDenied] instead of a result.
func (t *Task) CanCommit(ctx context.Context) (bool, error) {
	if t.call.Driver == nil {
		return false, errNoTask
	}
	return t.call.Driver.CanCommit(ctx)
}

// CommitOutput calls commit if this attempt may make its output visible, and
// returns [ErrCommitDenied] if not. The task should return the error:
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

// Barrier waits until all tasks of a job with the option [Barrier] have called it
// as often as this one. It fails if one of them has ended before, if ctx ends, and
// if the task is killed, which happens as soon as another task fails. After a
// failed Barrier all further ones of the task fail.
func (t *Task) Barrier(ctx context.Context) error {
	if t.call.Driver == nil {
		return errNoTask
	}
	return t.call.Driver.Barrier(ctx)
}

// BarrierTask is the location of a task of a job with the option [Barrier].
type BarrierTask struct {
	ExecutorID string
	Host       string
}

// BarrierTasks returns the locations of all tasks of the job, in the order of their
// inputs; nil if the job lacks the option [Barrier].
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
