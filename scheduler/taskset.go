package scheduler

import (
	"cmp"
	"fmt"
	"math"

	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
	"github.com/bobbin-yarn/bobbin/scheduler/resource"
	"github.com/bobbin-yarn/bobbin/scheduler/speculation"
)

// TaskSet describes tasks that do the same with different inputs.
type TaskSet struct {
	// ID identifies the set. The caller chooses it; it must be unique among the
	// sets that are not over.
	ID uint64
	// Name is text for people, used in errors and statuses.
	Name string
	// Tasks is the number of tasks. A task is identified by its index, from 0.
	Tasks int
	// Preferences returns where a task prefers to run. Submit calls it once for
	// each task and does not keep the result. If it is nil, no task has
	// preferences.
	Preferences func(index int) Preferences
	// Priority orders the sets of a FIFO pool, and sets of a FAIR pool that have an
	// equal right to a core. A set that repeats tasks of an earlier set should have
	// the same priority as that set.
	Priority pool.Priority
	// Profile is the resource profile of the executors that may run the tasks.
	Profile int
	// CPUs is how many cores each task uses; 0 means 1.
	CPUs int
	// Resources is how much each task uses of further resources, such as GPUs, by
	// name: a whole number of addresses (devices), or a fraction of one.
	Resources map[string]float64
	// MaxFailures is how many failures of a single task make the set fail; 0 means
	// 4, as in Spark.
	MaxFailures int
	// Pool is the name of the set's pool; "" means [pool.Default]. A pool that is
	// not configured has weight 1, no minimum share, and mode FIFO. If Config.Mode
	// is FIFO, there are no pools, and Pool has no effect.
	Pool string
	// Barrier is set if all tasks must run at the same time: all of them are
	// launched together or none is.
	Barrier bool
}

// taskSet is a task set and its progress.
type taskSet struct {
	id          uint64
	name        string
	maxFailures int
	profile     *profile
	requests    resource.Requests
	// node is the set's leaf in the tree of pools.
	node *pool.Node[*taskSet]
	// over is set when the set has ended. Some of its attempts may still run.
	over bool

	backlog
	done    int
	running []*attempt
	// histories holds, by task index, the tasks of which an attempt ended without a
	// result.
	histories map[int32]*history
	delay     delayClock

	progress progress
	// exhausted is set if no free core could be used by the set at any locality level
	// up to exhaustedAt. Until a less local level is allowed, offers then try only
	// executors that have become free since.
	exhausted   bool
	exhaustedAt Locality

	copies copies
	// durations holds how long the set's successful attempts ran.
	durations speculation.Median
	// exclusion holds the executors and nodes on which the set must not run.
	exclusion exclusion.Set
	blocked   blockage
	// barrier is nil unless the set is a barrier set.
	barrier *barrier
}

// Submit adds a task set. It fails if another set that is not over has the same ID,
// if the set has no tasks, if a number is negative, or if a resource amount is
// invalid.
func (s *Scheduler) Submit(submitted TaskSet) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("task set %d (%s): %w", submitted.ID, submitted.Name, fmt.Errorf(format, args...))
	}
	switch {
	case s.sets[submitted.ID] != nil:
		return fail("one with this id, %q, has not ended", s.sets[submitted.ID].name)
	case submitted.Tasks < 1 || submitted.Tasks > math.MaxInt32:
		return fail("it has %d tasks, which must be 1 to %d", submitted.Tasks, math.MaxInt32)
	case submitted.CPUs < 0:
		return fail("its tasks take %d cores each, which must not be negative", submitted.CPUs)
	case submitted.MaxFailures < 0:
		return fail("its tasks may fail %d times, which must not be negative", submitted.MaxFailures)
	}
	requests, err := resource.NewRequests(submitted.Resources)
	if err != nil {
		return fail("%w", err)
	}
	s.setsSubmitted++
	p := s.profile(submitted.Profile)
	set := &taskSet{
		id: submitted.ID, name: submitted.Name, profile: p, requests: requests, maxFailures: cmp.Or(submitted.MaxFailures, 4),
	}
	set.node = p.pools.AddLeaf(submitted.Pool, submitted.Priority, s.setsSubmitted, set)
	if submitted.Barrier {
		set.barrier = &barrier{buffered: make([]AttemptID, submitted.Tasks)}
		s.barriers++
		s.mayBlock[set.id] = set
	}
	s.sets[set.id] = set
	p.sets[set.id] = set
	set.backlog = backlog{cpus: cmp.Or(submitted.CPUs, 1), demand: &p.demand, avoids: set.avoids}
	set.fill(&p.cluster, submitted.Tasks, submitted.Preferences)
	set.node.Enqueue()
	return nil
}

// Cancel ends a task set and returns a [KillAttempt] for each of its attempts. The
// set causes no further events. An attempt uses its cores until its end is reported
// to Finished. An unknown set is ignored.
func (s *Scheduler) Cancel(taskSet uint64, reason string) []Event {
	set := s.sets[taskSet]
	if set == nil {
		return nil
	}
	s.endSet(set)
	return set.kill(nil, reason)
}

// endSet ends a set and removes all its data except its running attempts.
func (s *Scheduler) endSet(set *taskSet) {
	set.over = true
	p := set.profile
	if p.queuedSet == set {
		p.queuedSet = nil
	}
	delete(s.sets, set.id)
	delete(s.mayBlock, set.id)
	delete(p.sets, set.id)
	for _, a := range set.running {
		a.cancelCopy()
	}
	if set.barrier != nil {
		s.barriers--
	}
	set.node.Dequeue()
	s.delays.setRunning(set, false)
	set.drop(&p.cluster)
	set.histories = nil
}

// kill appends a KillAttempt for each attempt of the set that has not ended.
func (set *taskSet) kill(events []Event, reason string) []Event {
	for _, a := range byID(set.running) {
		events = append(events, KillAttempt{Attempt: a.id, Executor: a.executor.ID, Reason: reason})
	}
	return events
}

// HasWork reports whether the set has a waiting task or a wanted copy.
func (set *taskSet) HasWork() bool { return set.waiting > 0 || set.copies.wanted > 0 }

// excludes reports whether an executor is excluded for the set.
func (set *taskSet) excludes(e *executor) bool { return set.exclusion.Excludes(e.ID, e.Host) }

// slots returns how many tasks of a set an executor can run at once.
func (e *executor) slots(set *taskSet) int { return e.resources.Fit(set.requests, e.Cores/set.cpus) }

// freeSlots returns how many more tasks of a set an executor can run now.
func (e *executor) freeSlots(set *taskSet) int {
	if !e.available {
		return 0
	}
	return e.resources.FitFree(set.requests, e.free/set.cpus)
}
