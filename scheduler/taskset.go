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

// TaskSet is a number of tasks that do the same with different inputs.
type TaskSet struct {
	// ID is chosen by the caller, and unique among the sets that are not over.
	ID uint64
	// Name is text for people, used in errors and statuses.
	Name string
	// Tasks is how many tasks there are. A task is known by its index, from 0.
	Tasks int
	// Preferences returns where a task runs best. Submit calls it once for each task
	// and keeps nothing of the result. If it is nil, tasks run anywhere.
	Preferences func(index int) Preferences
	// Priority orders the sets of a FIFO pool, and those with an equal right to a
	// core in a FAIR pool. Submit the tasks of an earlier set again with the same
	// priority.
	Priority pool.Priority
	// Profile is the resource profile of the executors that may run the tasks.
	Profile int
	// CPUs is how many cores each task uses; 0 means 1.
	CPUs int
	// Resources is how much each task uses of further resources: a whole number of
	// addresses, or a part of one address.
	Resources map[string]float64
	// MaxFailures is how often one task may fail before the set fails; 4 if it is 0,
	// the same as in Spark.
	MaxFailures int
	// Pool is the name of the set's pool, [pool.Default] if it is "". A pool that is
	// not configured has weight 1, no minimum share, and is FIFO. If Config.Mode is
	// FIFO, there are no pools, and Pool has no effect.
	Pool string
	// Barrier reports whether all tasks must run at the same time: either all are
	// launched or none.
	Barrier bool
}

// taskSet is a task set and its progress.
type taskSet struct {
	id          uint64
	name        string
	maxFailures int
	profile     *profile
	requests    resource.Requests
	// node is its leaf in the tree of pools.
	node *pool.Node[*taskSet]
	// over reports whether the set has ended. Attempts of it may still run.
	over bool

	backlog
	done    int
	running []*attempt
	// histories has the tasks with an attempt that ended without a result.
	histories map[int32]*history
	delay     delayClock

	progress progress
	// exhausted reports whether the set could take no free core at the level
	// exhaustedAt or a better one, except those of newly free executors.
	exhausted   bool
	exhaustedAt Locality

	copies copies
	// durations are those of successful attempts.
	durations speculation.Median
	// exclusion has the exclusions for the set.
	exclusion exclusion.Set
	blocked   blockage
	// barrier is nil except for a barrier set.
	barrier *barrier
}

// Submit adds a task set. It fails if a set with its ID is not over, if it has no
// tasks, or if a number is negative.
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

// Cancel ends a task set, and returns a [KillAttempt] for each attempt that runs.
// No other event of the set follows. Its attempts use their cores until they are
// reported to Finished. An unknown set is ignored.
func (s *Scheduler) Cancel(taskSet uint64, reason string) []Event {
	set := s.sets[taskSet]
	if set == nil {
		return nil
	}
	s.endSet(set)
	return set.kill(nil, reason)
}

// endSet removes a set, except for its running attempts.
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

// kill appends a KillAttempt for each attempt of the set that runs.
func (set *taskSet) kill(events []Event, reason string) []Event {
	for _, a := range byID(set.running) {
		events = append(events, KillAttempt{Attempt: a.id, Executor: a.executor.ID, Reason: reason})
	}
	return events
}

// HasWork reports whether the set has a task or a copy to launch.
func (set *taskSet) HasWork() bool { return set.waiting > 0 || set.copies.wanted > 0 }

// excludes reports whether an executor is excluded for the set.
func (set *taskSet) excludes(e *executor) bool { return set.exclusion.Excludes(e.ID, e.Host) }

// slots returns how many tasks of a set an executor runs at once.
func (e *executor) slots(set *taskSet) int { return e.resources.Fit(set.requests, e.Cores/set.cpus) }

// freeSlots returns how many more tasks of a set an executor can run now.
func (e *executor) freeSlots(set *taskSet) int {
	if !e.available {
		return 0
	}
	return e.resources.FitFree(set.requests, e.free/set.cpus)
}
