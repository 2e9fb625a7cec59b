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

// Demand returns how much work there is in all profiles. The call
// is cheap.
func (s *Scheduler) Demand() Demand {
	var total Demand
	for _, p := range s.profiles {
		total.WaitingTasks += p.demand.WaitingTasks
		total.WaitingCPUs += p.demand.WaitingCPUs
		total.RunningTasks += p.demand.RunningTasks
		total.RunningCPUs += p.demand.RunningCPUs
		total.TasksWithPreferences += p.demand.TasksWithPreferences
	}
	return total
}

// DemandOf returns how much work there is for the executors of a profile.
func (s *Scheduler) DemandOf(profile int) Demand {
	if i, known := s.findProfile(profile); known {
		return s.profiles[i].demand
	}
	return Demand{}
}

// PreferredHostsOf returns for each host how many waiting tasks of a profile
// prefer it. The cost grows with the number of hosts.
func (s *Scheduler) PreferredHostsOf(profile int) map[string]int {
	preferred := make(map[string]int)
	if i, known := s.findProfile(profile); known {
		for name, h := range s.profiles[i].hosts {
			if h.waiting > 0 {
				preferred[name] = h.waiting
			}
		}
	}
	return preferred
}
