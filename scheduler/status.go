package scheduler

// Demand is how much work there is.
type Demand struct {
	// WaitingTasks and WaitingCPUs are the tasks that wait for cores, and the
	// cores that they wait for.
	WaitingTasks, WaitingCPUs int
	// RunningTasks and RunningCPUs are the attempts that run, those of sets
	// that are over included, and the cores that they hold.
	RunningTasks, RunningCPUs int
	// LargestTask is the most cores that one waiting task asks for.
	LargestTask int
}

// Demand says how much work there is, at the cost of reading it.
func (s *Scheduler) Demand() Demand { return Demand{} }

// PreferredHosts says for each host how many waiting tasks prefer it. It costs
// as much as there are hosts.
func (s *Scheduler) PreferredHosts() map[string]int { return nil }

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
	// Draining is whether it gets no more tasks.
	Draining bool
}

// TaskSetStatus is one task set in a snapshot, or at its end.
type TaskSetStatus struct {
	ID   uint64
	Name string
	// Tasks is how many there are: Waiting, Running and Done in all, as long as
	// the set is not over.
	Tasks, Waiting, Running, Done int
	// FailedAttempts is how many attempts failed, whether they count or not.
	FailedAttempts int
	// Launches counts the attempts that were launched at each Locality.
	Launches [Localities]int
}

// Snapshot copies the state of all executors and sets.
func (s *Scheduler) Snapshot() Snapshot { return Snapshot{} }
