// Package allocation decides how many executors of one kind an application
// should have while its work comes and goes: dynamic allocation, as Spark's
// ExecutorAllocationManager has it.
//
// A [Pool] is a plain value: it starts no goroutine, takes no lock, does no
// input or output and has no clock. Its owner tells it which executors are there
// and which of them are idle, and calls [Pool.Update] whenever something may
// have changed, with the work that there is and the time. What one task's begin
// or end costs is one assignment.
//
// # Up
//
// When tasks have waited for the backlog timeout, the target rises by one
// executor, and while they go on waiting, by 2, 4, 8, … more after each further
// (sustained) timeout. It never rises above what the tasks can use.
//
// # Down
//
// When the work shrinks, the target falls to what is left of it at once, so that
// executors are no longer asked for that would come to nothing to do. Those that
// are there stay until they have been idle for a while, and then those that the
// work cannot use are to be removed: the longest idle first, those that hold data
// for others last. As many as the work can use stay however long they are idle:
// tasks that wait for a better place will come to them. (Spark's first versions
// removed them: SPARK-21656.)
package allocation

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Never as a timeout is one that does not pass.
const Never = time.Duration(math.MaxInt64)

// Unbounded as the most executors is no bound.
const Unbounded = math.MaxInt32

// Options are the policy of a pool.
type Options struct {
	// Min and Max bound the target. Initial, within these bounds, is the target
	// until there is work for the first time.
	Min, Max, Initial int
	// IdleTimeout is how long an executor is idle before it is removed, and
	// HoldingIdleTimeout how long one that holds data; Never keeps it.
	IdleTimeout, HoldingIdleTimeout time.Duration
	// BacklogTimeout is how long tasks wait before the target rises for the
	// first time, and SustainedBacklogTimeout before it rises again.
	BacklogTimeout, SustainedBacklogTimeout time.Duration
	// Ratio, above 0 and at most 1, is the part of the executors that would run
	// all tasks at once that is asked for at the most.
	Ratio float64
}

// Work is what there is to do for a pool.
type Work struct {
	// Executors is how many executors the tasks that wait and run would fill,
	// all at once: 2.5 where there are ten tasks, of which an executor runs four.
	Executors float64
	// Backlog is whether tasks wait.
	Backlog bool
}

// Pool is the executors of one kind. It is not safe for use by several
// goroutines at once.
type Pool struct {
	options Options
	target  int
	useful  int  // how many executors the work can use, within the bounds
	begun   bool // there was work
	backlog bool // tasks wait

	increment int       // by which the target rises next
	riseAt    time.Time // the zero time while nothing waits

	executors []*Executor
	lookAt    time.Time // when an executor may be found that has been idle for long enough
}

// Executor is an executor of a pool, from Add to Remove.
type Executor struct {
	// ID is as it was given to Add.
	ID string

	pool      *Pool
	at        int // its place among the pool's
	busy      bool
	holding   bool
	idleSince time.Time
}

// New makes a pool without executors.
func New(options Options) *Pool {
	return &Pool{options: options, target: options.Initial, increment: 1}
}

// Target is how many executors there should be.
func (p *Pool) Target() int { return p.target }

// Add takes in an executor that has come up. It is idle.
func (p *Pool) Add(id string, now time.Time) *Executor {
	e := &Executor{ID: id, pool: p, at: len(p.executors), idleSince: now}
	p.executors = append(p.executors, e)
	p.lookBy(e)
	return e
}

// Remove takes out an executor that is gone, or that will be: it gets no more
// tasks. One that was taken out before is no error.
func (p *Pool) Remove(e *Executor) {
	if e.at < 0 {
		return
	}
	last := p.executors[len(p.executors)-1]
	p.executors[e.at], last.at = last, e.at
	p.executors[len(p.executors)-1] = nil
	p.executors = p.executors[:len(p.executors)-1]
	e.at = -1
}

// Busy notes that the executor runs a task.
func (e *Executor) Busy() { e.busy = true }

// Idle notes that the executor runs no task any more.
func (e *Executor) Idle(now time.Time) {
	e.busy, e.idleSince = false, now
	e.pool.lookBy(e)
}

// Hold notes whether the executor has data that somebody may still fetch.
func (e *Executor) Hold(holding bool) {
	e.holding = holding
	if !e.busy {
		e.pool.lookBy(e)
	}
}

// timeout is how long the executor may be idle.
func (p *Pool) timeout(e *Executor) time.Duration {
	if e.holding {
		return p.options.HoldingIdleTimeout
	}
	return p.options.IdleTimeout
}

// lookBy makes sure that the executor's idleness is seen when it has lasted.
func (p *Pool) lookBy(e *Executor) {
	if e.at < 0 {
		return
	}
	if timeout := p.timeout(e); timeout != Never {
		if end := e.idleSince.Add(timeout); p.lookAt.IsZero() || end.Before(p.lookAt) {
			p.lookAt = end
		}
	}
}

// Update brings the target to where the work wants it, and answers with the
// executors to be removed, which are no longer the pool's: they are to get no
// more tasks. The target is such that nobody comes in their place.
func (p *Pool) Update(work Work, now time.Time) (remove []*Executor) {
	p.begun = p.begun || work.Executors > 0
	if !p.begun {
		return nil
	}
	// Sums of fractions come out a little above the whole number that they are.
	const rounding = 1e-9
	p.useful = p.options.Max
	if need := math.Ceil(work.Executors*p.options.Ratio - rounding); need < float64(p.options.Max) {
		p.useful = max(int(need), p.options.Min)
	}
	if p.target > p.useful {
		p.target, p.increment = p.useful, 1
	}
	p.backlog = work.Backlog
	p.rise(now)
	return p.fall(now)
}

// rise raises the target while tasks wait.
func (p *Pool) rise(now time.Time) {
	if !p.backlog {
		p.riseAt, p.increment = time.Time{}, 1
		return
	}
	if p.riseAt.IsZero() {
		p.riseAt = now.Add(p.options.BacklogTimeout)
	}
	if now.Before(p.riseAt) {
		return
	}
	p.riseAt = now.Add(p.options.SustainedBacklogTimeout)
	// To ask for what is there already would only lose time.
	wanted := max(p.target, min(len(p.executors), p.useful)) + p.increment
	if p.target = min(wanted, p.useful); p.target == wanted {
		p.increment = min(2*p.increment, Unbounded/4)
	} else {
		p.increment = 1
	}
}

// fall takes out executors that the work cannot use and that have been idle for
// long enough.
func (p *Pool) fall(now time.Time) []*Executor {
	surplus := len(p.executors) - p.useful
	if surplus <= 0 || p.lookAt.IsZero() || now.Before(p.lookAt) {
		return nil
	}
	p.lookAt = time.Time{}
	var over []*Executor
	for _, e := range p.executors {
		switch timeout := p.timeout(e); {
		case e.busy || timeout == Never:
		case now.Sub(e.idleSince) >= timeout:
			over = append(over, e)
		default:
			p.lookBy(e)
		}
	}
	slices.SortFunc(over, func(a, b *Executor) int {
		switch {
		case a.holding == b.holding:
			return cmp.Or(a.idleSince.Compare(b.idleSince), cmp.Compare(a.ID, b.ID))
		case a.holding:
			return 1
		}
		return -1
	})
	if len(over) > surplus {
		over = over[:surplus]
		p.lookAt = now // the others go as soon as there is less work
	}
	for _, e := range over {
		p.Remove(e)
	}
	return over
}

// Next is the earliest time at which an Update may do something without anything
// having changed but the time; the zero time where it will not.
func (p *Pool) Next() time.Time {
	var next time.Time
	if p.begun && len(p.executors) > p.useful {
		next = p.lookAt
	}
	if p.backlog && p.target < p.useful && (next.IsZero() || p.riseAt.Before(next)) {
		next = p.riseAt
	}
	return next
}
