package driver

import (
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// attempt is one try of a task at an executor. There may be a million of them,
// so what few have is kept apart.
type attempt struct {
	id       scheduler.AttemptID
	run      *run
	executor *executor
	index    int
	try      int32 // 0 for the task's first attempt
	place    int32 // among the executor's attempts; gone once it has ended there
	killed   bool  // it was told to end
	asked    bool  // whether it may commit its output
	waits    bool  // at a barrier
	held     bool  // it has a result that counts when all of its barrier set have

	away    *awayResult        // nil unless it has run and its result waits at the executor
	told    *wire.TaskProgress // what it last said of itself, until that counts; nil for nothing
	result  *wire.TaskUpdate   // while its success is looked at, and as long as it is held
	failure *wire.Failure      // once it failed
}

// awayResult is a result that waits at its executor.
type awayResult struct {
	update *wire.TaskUpdate // that told of it
	coming bool             // it was asked for
	value  []byte           // what of it has come
}

// gone is the place of an attempt that its executor runs no more.
const gone = -1

// isGone is whether the executor runs the attempt no more: it has ended there, or
// the executor was lost.
func (a *attempt) isGone() bool { return a.place == gone }

// attemptAt is the attempt of an id where the executor runs it, and nil where it
// does not: it is another's, or was given up before.
func (l *loop) attemptAt(e *executor, id uint64) *attempt {
	a := l.attempts.Get(scheduler.AttemptID(id))
	if a == nil || a.executor != e || a.isGone() {
		return nil
	}
	return a
}

// attempts are those that one executor runs, in no certain order.
type attempts []*attempt

func (all *attempts) add(a *attempt) {
	a.place = int32(len(*all))
	*all = append(*all, a)
}

func (all *attempts) remove(a *attempt) {
	end := int32(len(*all) - 1)
	last := (*all)[end]
	(*all)[a.place], last.place = last, a.place
	(*all)[end] = nil
	*all = (*all)[:end]
	a.place = gone
}

// keptAttempts is for how many attempts an executor keeps room when it runs none.
const keptAttempts = 64

// trim lets go of room for very many attempts where there are none: there may be very
// many executors, and the next tasks long.
func (all *attempts) trim() {
	if len(*all) == 0 && cap(*all) > keptAttempts {
		*all = nil
	}
}

// takeAll removes all of them.
func (all *attempts) takeAll() attempts {
	taken := *all
	*all = nil
	for _, a := range taken {
		a.place = gone
	}
	return taken
}
