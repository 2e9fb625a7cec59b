package scheduler

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// TaskSet is a number of tasks that do the same to different inputs.
type TaskSet struct {
	// ID is the caller's; no two sets have the same at one time.
	ID uint64
	// Name is for people: it is in errors and in the snapshot.
	Name string
	// Tasks is how many tasks there are. A task is known by its index, from 0.
	Tasks int
	// Preferences says where a task runs best. It is called once for each task
	// by Submit, and nothing of its answer is kept. Nil: anywhere.
	Preferences func(index int) Preferences
	// Priority is the set's place in its FIFO pool, and decides between sets that
	// have an equal right to a core in a FAIR one. A set that is submitted again,
	// for tasks of an earlier one, keeps its place by the same priority.
	Priority Priority
	// Profile is the resource profile whose executors may run the tasks.
	Profile int
	// CPUs is how many cores of its executor each task takes; 1 where it is 0.
	CPUs int
	// Resources is how much of each further resource each task takes of its
	// executor: a whole number of addresses, or a part of one that others use as
	// well.
	Resources map[string]float64
	// MaxFailures is how often one task may fail before the set does; as
	// Config.MaxTaskFailures where it is 0.
	MaxFailures int
	// Pool names the pool of the set, DefaultPool where it is "". A pool that
	// nobody described has weight 1, no minimum share, and is FIFO. Where
	// Config.Mode is FIFO there are no pools, and this is of no effect.
	Pool string
	// Barrier is whether the tasks run at the same time: all are launched at once,
	// or none.
	Barrier bool
}

// Priority orders task sets: by job, then by stage, then as they were submitted.
// The lower number goes first, as in Spark. A set without a job gets one behind
// all others.
type Priority struct{ Job, Stage uint64 }

type taskState uint8

const (
	// taskFresh waits and never ran.
	taskFresh taskState = iota
	// taskRetried waits to run again.
	taskRetried
	taskRunning
	// taskHeld has a result that counts when all tasks of its barrier set have.
	taskHeld
	taskDone
)

// taskSet is a task set and how far it is.
type taskSet struct {
	id                uint64
	name              string
	cpus, maxFailures int
	profile           *profile
	requests          []request
	// node is its place in the tree of pools.
	node schedulable
	// hardExclusion is whether exclusion is enabled.
	hardExclusion bool
	// over is whether it has ended; attempts of it may still run.
	over bool

	states         []taskState
	waiting, done  int
	returned       int // of those that wait, how many were launched before
	failedAttempts int
	launches       [Localities]int
	running        []*attempt
	// histories has the tasks whose latest attempt ended without a result.
	histories map[int32]*history

	preferredPlaces
	// noPref and anywhere are the waiting tasks without and with preferences.
	noPref, anywhere pending
	// live counts, for each level with a wait, the places with waiting tasks
	// that have an executor; for NoPref it counts the waiting tasks.
	live  [Localities]int
	delay delay

	turn turn
	// settled is whether no free core, but those of freed executors, is left
	// that the set could take at the level settledAt or a better one.
	settled   bool
	settledAt Locality

	stragglers stragglers
	// durations are how long successful attempts took.
	durations median
	failures  setFailures
	// excluded is nil where the set leaves nothing alone.
	excluded *excludedPlaces
	// stuck is why the set can't go on, if it can't.
	stuck stuck
	// barrier is nil but for a barrier set.
	barrier *barrier
}

// history is what is remembered of a task that has to run again.
type history struct {
	attempts, failures int
	// failedOn and failedAt are the executor and the host of its latest
	// failure.
	failedOn, failedAt string
	// counts is nil where there are no failures that exclude anything.
	counts *failureCounts
}

// excludes is whether the task may not run on an executor where it failed.
func (h *history) excludes(e *executor) bool {
	return h != nil && h.counts != nil && h.counts.excludes(e)
}

// isExcluded is whether the task may not run everywhere.
func (h *history) isExcluded() bool {
	return h != nil && h.counts != nil && len(h.counts.executors)+len(h.counts.hosts) > 0
}

func (set *taskSet) history(index int32) *history {
	h := set.histories[index]
	if h == nil {
		if set.histories == nil {
			set.histories = make(map[int32]*history)
		}
		h = new(history)
		set.histories[index] = h
	}
	return h
}

// avoids is whether a task that came back stays away from an executor that could
// run it: where it is excluded for the task; without exclusion, one on the host
// where it failed, while a large enough one is on another host, or the one where
// it failed, while there is another.
func (set *taskSet) avoids(index int32, e *executor) bool {
	h := set.histories[index]
	switch {
	case h == nil:
		return false
	case set.hardExclusion:
		return h.excludes(e)
	case h.failedAt != e.Host:
		return false
	}
	here := e.host.sizes.fit(set)
	return set.profile.sizes.fit(set) > here || (h.failedOn == e.ID && here > 1)
}

// Submit adds a task set, by its priority. It is an error when a set with its
// ID has not ended, when it has no tasks, or when a number is negative.
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
	requests, err := newRequests(submitted.Resources)
	if err != nil {
		return fail("%w", err)
	}
	s.setsSubmitted++
	p := s.profile(submitted.Profile)
	set := &taskSet{
		id: submitted.ID, name: submitted.Name, profile: p,
		requests: requests, hardExclusion: s.config.Exclusion.Enabled,
		cpus:        cmp.Or(submitted.CPUs, 1),
		maxFailures: cmp.Or(submitted.MaxFailures, s.config.MaxTaskFailures),
		states:      make([]taskState, submitted.Tasks),
	}
	order := rank{pool: math.MaxInt, Priority: submitted.Priority, submitted: s.setsSubmitted}
	if order.Job == 0 {
		order.Job = math.MaxUint64
	}
	set.node = schedulable{set: set, parent: p.pool(submitted.Pool), weight: 1, rank: order}
	if submitted.Barrier {
		set.barrier = &barrier{held: make([]AttemptID, submitted.Tasks)}
		s.barriers++
		s.suspects[set.id] = set
	}
	s.sets[set.id] = set
	p.sets[set.id] = set
	s.prefer(set, submitted.Preferences)
	set.waiting = submitted.Tasks
	set.demand(set.waiting, set.waiting-set.live[NoPref])
	set.node.enqueue()
	return nil
}

// Cancel ends a task set, successful or not, and answers with a [KillAttempt]
// for each attempt that runs. The set is over when Cancel returns: no other
// event of it comes after those. Its attempts hold their cores until they are
// reported to Finished. A set that is not there is no error.
func (s *Scheduler) Cancel(taskSet uint64, reason string) []Event {
	set := s.sets[taskSet]
	if set == nil {
		return nil
	}
	s.end(set)
	return set.kill(nil, reason)
}

// end takes a set out of everything; only its running attempts stay.
func (s *Scheduler) end(set *taskSet) {
	set.over = true
	if set.profile.queuedSet == set {
		set.profile.queuedSet = nil
	}
	delete(s.sets, set.id)
	delete(s.suspects, set.id)
	delete(set.profile.sets, set.id)
	for _, a := range set.running {
		a.noCopy()
	}
	if set.barrier != nil {
		s.barriers--
	}
	set.node.dequeue()
	s.setDelayed(set, false)
	set.demand(-set.waiting, set.live[NoPref]-set.waiting)
	for _, p := range set.places {
		if p.host != nil {
			p.host.waiting -= p.waiting
			set.profile.releaseHost(p.host)
		}
	}
	set.preferredPlaces = preferredPlaces{}
	set.noPref, set.anywhere, set.histories = pending{}, pending{}, nil
}

// kill appends an event for each attempt of the set that runs.
func (set *taskSet) kill(events []Event, reason string) []Event {
	running := slices.Clone(set.running)
	slices.SortFunc(running, func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	for _, a := range running {
		events = append(events, KillAttempt{Attempt: a.id, Executor: a.executor.ID, Reason: reason})
	}
	return events
}

// demand counts tasks that wait from now on, and those of them that prefer a
// place, in the demand of the set's profile.
func (set *taskSet) demand(tasks, choosy int) {
	d := &set.profile.demand
	d.WaitingTasks += tasks
	d.WaitingCPUs += tasks * set.cpus
	d.TasksWithPreferences += choosy
}
