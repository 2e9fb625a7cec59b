package scheduler

import (
	"cmp"
	"maps"
	"slices"
)

// Demand is how much work there is.
type Demand struct {
	// WaitingTasks and WaitingCPUs are the tasks that wait for cores, and the
	// cores that they wait for.
	WaitingTasks, WaitingCPUs int
	// RunningTasks and RunningCPUs are the attempts that run, those of sets
	// that are over included, and the cores that they hold.
	RunningTasks, RunningCPUs int
	// TasksWithPreferences are the waiting tasks that prefer some place.
	TasksWithPreferences int
}

// Demand says how much work there is in all profiles, at the cost of reading
// it.
func (s *Scheduler) Demand() Demand {
	var all Demand
	for _, p := range s.profiles {
		all.WaitingTasks += p.demand.WaitingTasks
		all.WaitingCPUs += p.demand.WaitingCPUs
		all.RunningTasks += p.demand.RunningTasks
		all.RunningCPUs += p.demand.RunningCPUs
		all.TasksWithPreferences += p.demand.TasksWithPreferences
	}
	return all
}

// PreferredHosts says for each host how many waiting tasks of all profiles
// prefer it. It costs as much as there are hosts.
func (s *Scheduler) PreferredHosts() map[string]int {
	preferred := make(map[string]int)
	for _, p := range s.profiles {
		p.addPreferred(preferred)
	}
	return preferred
}

// Snapshot is a copy of the state for people to look at.
type Snapshot struct {
	// Executors come in the order of their addition.
	Executors []ExecutorStatus
	// TaskSets are those that are not over, in the order in which they are
	// served.
	TaskSets []TaskSetStatus
}

// ExecutorStatus is one executor in a snapshot.
type ExecutorStatus struct {
	Executor
	// FreeCores is how many of its cores run nothing.
	FreeCores int
	// RunningTasks is how many attempts it runs.
	RunningTasks int
	// Decommissioning is whether it gets no more tasks.
	Decommissioning bool
}

// TaskSetStatus is one task set in a snapshot, or at its end.
type TaskSetStatus struct {
	ID   uint64
	Name string
	// Tasks is how many there are. As long as the set is not over, Waiting,
	// Running and Done add up to it.
	Tasks, Waiting, Running, Done int
	// FailedAttempts is how many attempts failed, whether they count or not.
	FailedAttempts int
	// Launches counts the attempts that were launched at each Locality.
	Launches [Localities]int
}

// Snapshot copies the state of all executors and sets.
func (s *Scheduler) Snapshot() Snapshot {
	var snapshot Snapshot
	executors := slices.SortedFunc(maps.Values(s.executors), func(a, b *executor) int { return cmp.Compare(a.order, b.order) })
	for _, e := range executors {
		snapshot.Executors = append(snapshot.Executors, ExecutorStatus{
			Executor: e.Executor, FreeCores: e.free, RunningTasks: len(e.running), Decommissioning: e.decommissioning,
		})
	}
	sets := slices.SortedFunc(maps.Values(s.sets), func(a, b *taskSet) int { return a.node.rank.compare(b.node.rank) })
	for _, set := range sets {
		snapshot.TaskSets = append(snapshot.TaskSets, set.status())
	}
	return snapshot
}

func (set *taskSet) status() TaskSetStatus {
	return TaskSetStatus{
		ID: set.id, Name: set.name,
		Tasks: len(set.states), Waiting: set.waiting, Running: len(set.running), Done: set.done + set.heldResults(),
		FailedAttempts: set.failedAttempts, Launches: set.launches,
	}
}

// heldResults is how many tasks of a barrier set are done, as long as all may
// yet have to be done again.
func (set *taskSet) heldResults() int {
	if set.barrier == nil {
		return 0
	}
	return set.barrier.count
}
