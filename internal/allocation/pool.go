// Package allocation implements dynamic allocation: it decides how many executors of one
// resource profile an application should have as its work changes, as Spark's
// ExecutorAllocationManager does.
//
// A [Pool] is a pure state machine, without goroutines, locks, I/O or a clock. The owner of a
// Pool
//
//  1. adds and removes executors ([Pool.Add], [Pool.Remove]),
//  2. reports when an executor becomes busy or idle ([Executor.Busy], [Executor.Idle]), and
//     whether it stores data for later tasks ([Executor.Hold]); these calls are cheap,
//  3. calls [Pool.Update] when something may have changed and at the time that [Pool.Next]
//     returns, and ends the executors that Update returns.
//
// # When the target rises
//
// When tasks have waited for the backlog timeout, the target rises by one executor. Each time
// the sustained backlog timeout passes while tasks still wait, the target rises again: by 2,
// then by 4, 8 and so on. It never rises above the number of executors that the tasks can use.
//
// # When the target falls
//
// When there is less work, the target falls at once to the number of executors that the
// remaining work can use. Running executors beyond that number are removed when their idle
// timeout has expired: first the executors that have been idle longest, last the executors that
// store data. The pool does not remove more executors than that, even if further executors are
// idle, because waiting tasks may still run on them when their locality wait ends. (Early
// versions of Spark removed these executors: SPARK-21656.)
package allocation

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Never is a timeout that does not expire.
const Never = time.Duration(math.MaxInt64)

// Unbounded is the value of Options.Max that means no limit.
const Unbounded = math.MaxInt32

// Options are the settings of dynamic allocation for a pool.
type Options struct {
	// Min and Max limit the target. Initial is the target until the first Update with work.
	Min, Max, Initial int
	// IdleTimeout is how long an executor is idle before it is removed; HoldingIdleTimeout is
	// the same for an executor that stores data (see [Executor.Hold]).
	IdleTimeout, HoldingIdleTimeout time.Duration
	// BacklogTimeout is how long tasks must have waited before the target first rises.
	// SustainedBacklogTimeout is the time between later rises while tasks still wait.
	BacklogTimeout, SustainedBacklogTimeout time.Duration
	// Ratio limits the target to this fraction (above 0, at most 1) of the number of
	// executors that would run all tasks at once.
	Ratio float64
}

// Work describes the tasks that the executors of a pool have to run.
type Work struct {
	// Executors is how many executors would run all waiting and running tasks at once. It may
	// be a fraction: 2.5 for ten tasks if an executor runs four.
	Executors float64
	Backlog   bool // whether any task waits for a core
}

// Pool computes the target, the number of executors of one profile that the application should
// have. It is not safe for concurrent use.
type Pool struct {
	options         Options
	target          int
	neededExecutors int  // number of executors that the work can use, at least Min and at most Max
	hadWork         bool // set at the first Update with work, and never reset
	backlog         bool // set while tasks wait

	increment int       // number of executors by which the target rises next
	riseAt    time.Time // when the target rises next; the zero time while no task waits

	executors []*Executor
	checkAt   time.Time // the earliest time at which an idle timeout may expire; the zero time means never
}

// Executor is an executor that Add has added to a pool.
type Executor struct {
	ID string // the id that was passed to Add

	pool      *Pool
	index     int // the executor's index in Pool.executors; -1 after its removal
	busy      bool
	holding   bool
	idleSince time.Time
}

// New returns a pool without executors.
func New(options Options) *Pool {
	return &Pool{options: options, target: options.Initial, increment: 1}
}

// Target returns the number of executors that the application should have.
func (p *Pool) Target() int { return p.target }

// Add adds an executor that has registered and is idle.
func (p *Pool) Add(id string, now time.Time) *Executor {
	e := &Executor{ID: id, pool: p, index: len(p.executors), idleSince: now}
	p.executors = append(p.executors, e)
	p.checkBy(e)
	return e
}

// Remove removes an executor that is lost or must get no more tasks. It does nothing if the
// executor has been removed already.
func (p *Pool) Remove(e *Executor) {
	if e.index < 0 {
		return
	}
	last := p.executors[len(p.executors)-1]
	p.executors[e.index], last.index = last, e.index
	p.executors[len(p.executors)-1] = nil
	p.executors = p.executors[:len(p.executors)-1]
	e.index = -1
}

// Busy records that the executor runs a task.
func (e *Executor) Busy() { e.busy = true }

// Idle records that the executor runs no task any more; its idle time begins at now.
func (e *Executor) Idle(now time.Time) {
	e.busy, e.idleSince = false, now
	e.pool.checkBy(e)
}

// Hold records whether the executor stores data that later tasks may use, such as cached
// blocks.
func (e *Executor) Hold(holding bool) {
	e.holding = holding
	if !e.busy {
		e.pool.checkBy(e)
	}
}

// timeout returns how long an executor may be idle before it is removed.
func (p *Pool) timeout(e *Executor) time.Duration {
	if e.holding {
		return p.options.HoldingIdleTimeout
	}
	return p.options.IdleTimeout
}

// checkBy sets p.checkAt so that the method fall checks the idle executor e when the executor's
// idle timeout expires.
func (p *Pool) checkBy(e *Executor) {
	if e.index < 0 {
		return
	}
	if timeout := p.timeout(e); timeout != Never {
		if end := e.idleSince.Add(timeout); p.checkAt.IsZero() || end.Before(p.checkAt) {
			p.checkAt = end
		}
	}
}

// Update adapts the target to the work. It removes unneeded executors from the pool and returns
// them. The caller must decommission them; the target does not count them.
func (p *Pool) Update(work Work, now time.Time) (remove []*Executor) {
	p.hadWork = p.hadWork || work.Executors > 0
	if !p.hadWork {
		return nil
	}
	// Sums of fractions may be slightly above a whole number: do not round them up.
	const rounding = 1e-9
	p.neededExecutors = p.options.Max
	if need := math.Ceil(work.Executors*p.options.Ratio - rounding); need < float64(p.options.Max) {
		p.neededExecutors = max(int(need), p.options.Min)
	}
	if p.target > p.neededExecutors {
		p.target, p.increment = p.neededExecutors, 1
	}
	p.backlog = work.Backlog
	p.rise(now)
	return p.fall(now)
}

// rise raises the target if tasks have waited for the backlog timeout.
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
	// If more executors run than the target, start from their number: raising the target only
	// to that number would give the waiting tasks no additional executor.
	wanted := max(p.target, min(len(p.executors), p.neededExecutors)) + p.increment
	if p.target = min(wanted, p.neededExecutors); p.target == wanted {
		p.increment = min(2*p.increment, Unbounded/4)
	} else {
		p.increment = 1
	}
}

// fall removes and returns unneeded executors whose idle timeouts have expired.
func (p *Pool) fall(now time.Time) []*Executor {
	surplus := len(p.executors) - p.neededExecutors
	if surplus <= 0 || p.checkAt.IsZero() || now.Before(p.checkAt) {
		return nil
	}
	p.checkAt = time.Time{}
	var expired []*Executor
	for _, e := range p.executors {
		switch timeout := p.timeout(e); {
		case e.busy || timeout == Never:
		case now.Sub(e.idleSince) >= timeout:
			expired = append(expired, e)
		default:
			p.checkBy(e)
		}
	}
	slices.SortFunc(expired, func(a, b *Executor) int {
		switch {
		case a.holding == b.holding:
			return cmp.Or(a.idleSince.Compare(b.idleSince), cmp.Compare(a.ID, b.ID))
		case a.holding:
			return 1
		}
		return -1
	})
	if len(expired) > surplus {
		expired = expired[:surplus]
		// As soon as fewer executors are needed, remove the others whose idle timeouts have
		// expired.
		p.checkAt = now
	}
	for _, e := range expired {
		p.Remove(e)
	}
	return expired
}

// Next returns the time at which to call Update even if nothing changes; the zero time means
// never.
func (p *Pool) Next() time.Time {
	var next time.Time
	if p.hadWork && len(p.executors) > p.neededExecutors {
		next = p.checkAt
	}
	if p.backlog && p.target < p.neededExecutors && (next.IsZero() || p.riseAt.Before(next)) {
		next = p.riseAt
	}
	return next
}
