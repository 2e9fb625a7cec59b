package driver

import (
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// attempt is one try of a task at an executor.
type attempt struct {
	id       scheduler.AttemptID
	run      *runningSet
	executor *executor
	index    int
	try      int    // 0 for the task's first attempt
	killed   bool   // it was told to end
	asked    bool   // whether it may commit its output
	waits    bool   // at a barrier
	held     bool   // it has a result that counts when all of its barrier set have
	lost     string // how its executor was lost; "" where it was not

	away     *awayResult        // nil unless it has run and its result waits at the executor
	progress *wire.TaskProgress // its latest, until its result counts; nil for none
	result   *wire.TaskUpdate   // while its success is looked at, and as long as it is held
	failure  *wire.Failure      // once it failed
}

// awayResult is a result that waits at its executor.
type awayResult struct {
	update *wire.TaskUpdate // that told of it
	coming bool             // it was asked for
	value  []byte           // what of it has come
}

// isGone is whether the executor runs the attempt no more: it has ended there, or
// the executor was lost.
func (a *attempt) isGone() bool { return a.executor.attempts[a.id] == nil }

// attemptAt is the attempt of an id where the executor runs it, and nil where it
// does not: it is another's, or was given up before.
func (l *loop) attemptAt(e *executor, id uint64) *attempt { return e.attempts[scheduler.AttemptID(id)] }
