package scheduler

import (
	"maps"
	"slices"
)

// Snapshot is the state of a scheduler that tests compare.
type Snapshot struct {
	Executors []ExecutorStatus // in the order in which they were added
	TaskSets  []TaskSetStatus  // sets that are not over, in the order of their priority
}

type ExecutorStatus struct {
	Executor
	FreeCores       int
	RunningTasks    int
	Decommissioning bool
}

type TaskSetStatus struct {
	ID   uint64
	Name string
	// Waiting, Running and Done add up to Tasks if no speculative copies run.
	Tasks, Waiting, Running, Done int
}

func (set *taskSet) status() TaskSetStatus {
	status := TaskSetStatus{
		ID: set.id, Name: set.name,
		Tasks: len(set.states), Waiting: set.waiting, Running: len(set.running), Done: set.done,
	}
	if set.barrier != nil {
		status.Done += set.barrier.successCount
	}
	return status
}

func (s *Scheduler) Snapshot() Snapshot {
	var snapshot Snapshot
	for _, e := range sortedByOrder(s.executors) {
		snapshot.Executors = append(snapshot.Executors, ExecutorStatus{
			Executor: e.Executor, FreeCores: e.free, RunningTasks: len(e.running), Decommissioning: e.decommissioning,
		})
	}
	for _, set := range slices.SortedFunc(maps.Values(s.sets), func(a, b *taskSet) int { return a.node.Compare(b.node) }) {
		snapshot.TaskSets = append(snapshot.TaskSets, set.status())
	}
	return snapshot
}

// PreferredHosts returns the result of PreferredHostsOf, added up over all profiles.
func (s *Scheduler) PreferredHosts() map[string]int {
	preferred := make(map[string]int)
	for _, p := range s.profiles {
		for host, tasks := range s.PreferredHostsOf(p.id) {
			preferred[host] += tasks
		}
	}
	return preferred
}
