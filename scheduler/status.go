package scheduler

// Demand is how much work there is.
type Demand struct {
	// WaitingTasks are the tasks that wait for cores, WaitingCPUs the cores that
	// they wait for.
	WaitingTasks, WaitingCPUs int
	// RunningTasks are the attempts that run, including those of sets that are over,
	// RunningCPUs the cores that they use.
	RunningTasks, RunningCPUs int
	// TasksWithPreferences are the waiting tasks that prefer a host or an executor.
	TasksWithPreferences int
}

// Demand returns how much work there is in all profiles. Demands are counted as
// they change: the call costs nothing.
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

// DemandOf returns how much work there is for the executors of a profile.
func (s *Scheduler) DemandOf(profile int) Demand {
	if at, known := s.findProfile(profile); known {
		return s.profiles[at].demand
	}
	return Demand{}
}

// PreferredHostsOf returns for each host how many waiting tasks of a profile
// prefer it. The cost grows with the number of hosts.
func (s *Scheduler) PreferredHostsOf(profile int) map[string]int {
	preferred := make(map[string]int)
	if at, known := s.findProfile(profile); known {
		for name, h := range s.profiles[at].hosts {
			if h.waiting > 0 {
				preferred[name] = h.waiting
			}
		}
	}
	return preferred
}
