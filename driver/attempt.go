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

// discard forgets an attempt that ended. Where nothing else can have it, its memory is
// used again: those of barrier sets and those with results that wait elsewhere are in
// lists.
func (l *loop) discard(a *attempt) {
	if a.away != nil || a.run.job.Barrier {
		l.attempts.Leave(a.id)
		return
	}
	l.attempts.Delete(a.id)
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

// takeAll removes all of them.
func (all *attempts) takeAll() attempts {
	taken := *all
	*all = nil
	for _, a := range taken {
		a.place = gone
	}
	return taken
}
