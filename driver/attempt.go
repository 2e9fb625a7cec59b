package driver

import (
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler"
)

// attempt is one try of a task at an executor.
type attempt struct {
	id       scheduler.AttemptID
	run      *run
	index    int
	try      int // 0 for the task's first attempt
	executor *executor
	place    int  // among the executor's attempts; gone once it has ended there
	killed   bool // it was told to end
	asked    bool // whether it may commit its output
	waits    bool // at a barrier
	held     bool // it has a result that counts when all of its barrier set have

	ran     *wire.TaskUpdate // once its result waits at the executor
	coming  bool             // the result was asked for
	value   []byte           // of the result, what has come
	metrics *wire.Metrics    // as far as it has told, until it counts
	values  *wire.TaskValues // that it told of while it runs
	result  *wire.TaskUpdate // once it succeeded
	failure *wire.Failure    // once it failed
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
	a.place = len(*all)
	*all = append(*all, a)
}

func (all *attempts) remove(a *attempt) {
	end := len(*all) - 1
	last := (*all)[end]
	(*all)[a.place], last.place = last, a.place
	(*all)[end] = nil
	*all = (*all)[:end]
	a.place = gone
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
