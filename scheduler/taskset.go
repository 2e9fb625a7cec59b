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
	// Profile is the resource profile whose executors may run the tasks.
	Profile int
	// CPUs is how many cores of its executor each task takes; 1 where it is 0.
	CPUs int
	// MaxFailures is how often one task may fail before the set does; as
	// Config.MaxTaskFailures where it is 0.
	MaxFailures int
}

type taskState uint8

const (
	// taskFresh waits and never ran.
	taskFresh taskState = iota
	// taskReturned waits to run again.
	taskReturned
	taskRunning
	taskDone
)

// taskSet is a task set and how far it is.
type taskSet struct {
	id                uint64
	name              string
	cpus, maxFailures int
	profile           *profile
	// order counts sets as they are submitted.
	order uint64
	// over is whether it has ended; attempts of it may still run.
	over bool

	states         []taskState
	waiting, done  int
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

	// queued is whether it is in the scheduler's queue.
	queued bool
	// settled is whether no free core, but those of freed executors, is left
	// that the set could take at the level settledAt or a better one.
	settled   bool
	settledAt Locality
}

// history is what is remembered of a task that has to run again.
type history struct {
	attempts, failures int
	// failedOn and failedAt are the executor and the host of its latest
	// failure.
	failedOn, failedAt string
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

// avoids is whether a task stays away from an executor that could run it: one
// on the host where it failed, while a large enough one is on another host, or
// the one where it failed, while there is another.
func (set *taskSet) avoids(index int32, e *executor) bool {
	h := set.histories[index]
	if h == nil || h.failedAt != e.Host {
		return false
	}
	here := e.host.sizes.atLeast(set.cpus)
	return set.profile.sizes.atLeast(set.cpus) > here || (h.failedOn == e.ID && here > 1)
}

// Submit adds a task set behind all others. It is an error when a set with its
// ID has not ended, when it has no tasks, or when a number is negative.
func (s *Scheduler) Submit(submitted TaskSet) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("task set %d (%s): %s", submitted.ID, submitted.Name, fmt.Sprintf(format, args...))
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
	s.setsSubmitted++
	set := &taskSet{
		id: submitted.ID, name: submitted.Name, order: s.setsSubmitted, profile: s.profile(submitted.Profile),
		cpus:        cmp.Or(submitted.CPUs, 1),
		maxFailures: cmp.Or(submitted.MaxFailures, s.config.MaxTaskFailures),
		states:      make([]taskState, submitted.Tasks),
	}
	s.sets[set.id] = set
	set.profile.sets[set.id] = set
	s.prefer(set, submitted.Preferences)
	set.waiting = submitted.Tasks
	set.demand(set.waiting, set.waiting-set.live[NoPref])
	set.profile.enqueue(set)
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
	delete(s.sets, set.id)
	delete(set.profile.sets, set.id)
	set.profile.dequeue(set)
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
	d.ChoosyTasks += choosy
}

// enqueue puts a set with waiting tasks at its place in the queue.
func (p *profile) enqueue(set *taskSet) {
	if set.queued {
		return
	}
	set.queued = true
	at, _ := p.position(set)
	p.queue = slices.Insert(p.queue, at, set)
}

func (p *profile) dequeue(set *taskSet) {
	if set.queued {
		set.queued = false
		at, _ := p.position(set)
		p.queue = slices.Delete(p.queue, at, at+1)
	}
}

// position is where a set is in the queue, or would be.
func (p *profile) position(set *taskSet) (int, bool) {
	return slices.BinarySearchFunc(p.queue, set, func(a, b *taskSet) int { return cmp.Compare(a.order, b.order) })
}
