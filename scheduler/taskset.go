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

// TaskSet describes tasks that run the same function with different inputs.
type TaskSet struct {
	ID    uint64 // chosen by the caller; unique among the sets that have not ended
	Name  string // text for people, in errors and statuses
	Tasks int    // number of tasks, whose indexes are 0 to Tasks-1
	// Preferences returns the preferences of a task; nil if no task has preferences. Submit
	// calls it once for each task and does not store the function.
	Preferences func(index int) Preferences
	// Priority orders the sets of a FIFO pool, and sets of a FAIR pool whose use of cores is
	// equally far below their shares. A set that repeats tasks of an earlier set should have the
	// same priority as that set.
	Priority pool.Priority
	Profile  int // resource profile of the executors that may run the tasks
	CPUs     int // cores that each task uses; 0 means 1
	// Resources is how much each task uses of resources other than cores, such as GPUs, by
	// name: a whole number of addresses (devices), or a fraction of one address.
	Resources   map[string]float64
	MaxFailures int // number of failures of one task after which the set fails; 0 means 4, as in Spark
	// Pool is the name of the set's pool; "" means [pool.Default]. A pool that is not configured
	// has weight 1, no minimum share, and mode FIFO. If Config.Mode is FIFO, there are no pools,
	// and Pool has no effect.
	Pool    string
	Barrier bool // all tasks must run at the same time and are launched together
}

// taskSet is a task set and its progress.
type taskSet struct {
	id          uint64
	name        string
	maxFailures int
	profile     *profile
	requests    resource.Requests
	node        *pool.Node[*taskSet] // the set's leaf in the tree of pools
	ended       bool                 // the set has ended; some attempts may still run

	backlog
	done       int
	running    []*attempt
	histories  map[int32]*history // by task index; only of tasks with an attempt that ended without a result
	delayClock delayClock

	offer offerProgress
	// exhausted is true if no free core was suitable for the set at the levels of locality up to
	// exhaustedAt. Then, until a less local level opens, offers try only executors that have
	// become newly free since; see cluster.newlyFree.
	exhausted   bool
	exhaustedAt Locality

	speculativeCopies speculativeCopies
	durations         speculation.RunningMedian // run times of the set's successful attempts
	exclusion         exclusion.TaskSetFailures // executors and nodes on which the set must not run
	blocked           blockedState
	barrier           *barrier // nil unless the set is a barrier set
}

// Submit adds a task set. It fails if a set with the same ID has not ended, if the set has no
// tasks, if a number is negative, or if a resource amount is invalid.
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
		set.barrier = &barrier{successes: make([]AttemptID, submitted.Tasks)}
		s.barriers++
		s.possiblyBlocked[set.id] = set
	}
	s.sets[set.id] = set
	p.sets[set.id] = set
	set.backlog = backlog{cpus: cmp.Or(submitted.CPUs, 1), demand: &p.demand, mustAvoid: set.avoids}
	set.listAll(&p.cluster, submitted.Tasks, submitted.Preferences)
	set.node.Enqueue()
	return nil
}

// Cancel ends a task set and returns a [KillAttempt] for each of its attempts. No further events
// follow for the set. An attempt occupies its cores until its end is reported to
// [Scheduler.Finished]. An unknown set is ignored.
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
	set.ended = true
	p := set.profile
	if p.queuedSet == set {
		p.queuedSet = nil
	}
	delete(s.sets, set.id)
	delete(s.possiblyBlocked, set.id)
	delete(p.sets, set.id)
	for _, a := range set.running {
		a.cancelSpeculativeCopy()
	}
	if set.barrier != nil {
		s.barriers--
	}
	set.node.Dequeue()
	s.delays.setRunning(set, false)
	set.removeAll(&p.cluster)
	set.histories = nil
}

// kill appends a KillAttempt for each attempt of the set that has not ended.
func (set *taskSet) kill(events []Event, reason string) []Event {
	for _, a := range byID(set.running) {
		events = append(events, KillAttempt{Attempt: a.id, Executor: a.executor.ID, Reason: reason})
	}
	return events
}

// HasWork reports whether the set has a waiting task or a speculative copy to launch.
func (set *taskSet) HasWork() bool { return set.waiting > 0 || set.speculativeCopies.neededCount > 0 }

// excludes reports whether an executor is excluded for the set.
func (set *taskSet) excludes(e *executor) bool { return set.exclusion.Excludes(e.ID, e.Host) }

// slots returns how many tasks of a set an executor could run at once if it were idle.
func (e *executor) slots(set *taskSet) int { return e.resources.Fit(set.requests, e.Cores/set.cpus) }

// freeSlots returns how many tasks of a set an executor can run at once with its free cores and
// resources.
func (e *executor) freeSlots(set *taskSet) int {
	if !e.available {
		return 0
	}
	return e.resources.FitFree(set.requests, e.free/set.cpus)
}
