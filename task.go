package bobbin

import (
	"context"

	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Task is one attempt of one task, as its function sees it. It is the context
// that the function should pass on: it ends when the attempt is killed, with
// the reason as its cause. Go cannot end a function from outside: one that goes
// on for task.reaper.killTimeout after that costs its executor, which is
// replaced once its other tasks have ended. Goroutines that a function starts
// should have ended when it returns; those that have not are named in the
// executor's log.
type Task struct {
	context.Context
	call function.Call
}

// Value gives what the executor's context carries, and counts what the task
// reads and writes.
func (t *Task) Value(key any) any {
	if _, ok := key.(storage.UsageKey); ok && t.call.Usage != nil {
		return t.call.Usage
	}
	return t.Context.Value(key)
}

// Index is the place of the task's input among the inputs of its run, from 0.
func (t *Task) Index() int { return t.call.Index }

// Attempt counts the tries of this task before this one: 0 in the first.
func (t *Task) Attempt() int { return t.call.AttemptNumber }

// CPUs is how many cores the task may use.
func (t *Task) CPUs() int { return t.call.CPUs }

// ExecutorID names the executor that runs the attempt.
func (t *Task) ExecutorID() string { return t.call.ExecutorID }

// Host is the node on which the attempt runs, as the cluster names it.
func (t *Task) Host() string { return t.call.Host }

// Hold says that this executor keeps something under a key which later tasks, or
// others, may come for: with dynamic allocation the executor then stays when it
// is idle, until [Session.Release] is called with the key, or for
// dynamicAllocation.cachedExecutorIdleTimeout where that is set. What is kept,
// and how others find it, is the program's own matter; it is lost with the
// executor. To hold a key twice is to hold it once.
func (t *Task) Hold(key string) {
	if t.call.Hold != nil {
		t.call.Hold(key)
	}
}

// Files reaches HDFS and the local disk of the executor.
func (t *Task) Files() *storage.Files { return storage.From(t.Context) }

// SharedValue decodes the value that the run was given by [Shared]. Each call
// decodes it anew, so the caller may change what it gets.
func SharedValue[T any](t *Task) (T, error) { return codec.Decode[T](t.call.Common) }
