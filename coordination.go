package bobbin

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/internal/function"
)

// ErrCommitDenied is what a task returns that may not commit its output, as
// another attempt of it does or has done so. It is no failure that counts: if the
// other attempt fails, the task is tried again.
var ErrCommitDenied = function.ErrCommitDenied

// errNoTask is told by tasks that a test made by itself.
var errNoTask = errors.New("the task does not run on an executor")

// Resources are the addresses of the resources that the task may use, by name:
// {"gpu": {"1"}}. Nil where it asked for none; see [Resource].
func (t *Task) Resources() map[string][]string { return t.call.Resources }

// CanCommit asks the driver whether this attempt may make its output visible.
// Of several attempts of a task, copies of slow ones included, one may; another
// only when that one has failed or is lost. A task that may not must not return
// a result, but [ErrCommitDenied].
func (t *Task) CanCommit(ctx context.Context) (bool, error) {
	if t.call.Driver == nil {
		return false, errNoTask
	}
	return t.call.Driver.CanCommit(ctx)
}

// CommitOutput calls commit if this attempt may make its output visible, and else
// returns [ErrCommitDenied], which the task should return in turn:
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

// Barrier waits until all tasks of a run with the option [Barrier] have called it
// as often as this one. It fails when they cannot, as one has ended before, when
// ctx ends, and when the task is killed, which it is as soon as another one
// fails. A task whose Barrier has failed can pass no other.
func (t *Task) Barrier(ctx context.Context) error {
	if t.call.Driver == nil {
		return errNoTask
	}
	return t.call.Driver.Barrier(ctx)
}

// BarrierTask is where a task of a run with the option [Barrier] runs.
type BarrierTask struct {
	ExecutorID string
	Host       string
}

// BarrierTasks are where all tasks of the run are, in the order of their inputs;
// nil where the run lacks the option [Barrier].
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
