package scheduler

// Demand counts waiting tasks and running attempts, and their cores.
type Demand struct {
	WaitingTasks, WaitingCPUs int // tasks that wait to be launched; the cores that they need
	// RunningTasks is how many attempts have not ended, including queued attempts
	// and attempts of sets that are over; RunningCPUs is how many cores they use.
	RunningTasks, RunningCPUs int
	TasksWithPreferences      int // waiting tasks that prefer a host or an executor
}

// Demand returns the demand of all resource profiles together. The call is cheap.
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

// DemandOf returns the demand of the task sets of one resource profile.
func (s *Scheduler) DemandOf(profile int) Demand {
	if i, known := s.findProfile(profile); known {
		return s.profiles[i].demand
	}
	return Demand{}
}

// PreferredHostsOf returns, by host, how many waiting tasks of a resource profile prefer the
// host. The cost of a call grows with the number of hosts.
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
