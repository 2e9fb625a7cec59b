package am

// fleetStatus is what the status page shows of the fleet.
type fleetStatus struct {
	counts     ExecutorCounts
	failures   []FailureCount
	exclusions []Exclusion
	notes      []string
}

// status is the fleet at this moment. Registered executors are counted by the
// driver, too, which knows them first.
func (f *fleet) status() fleetStatus {
	counts := ExecutorCounts{
		Launching:       f.states[stateLaunching],
		Running:         f.states[stateRegistered] + f.states[stateDecommissioning],
		Decommissioning: f.states[stateDecommissioning],
		Ending:          len(f.releasing),
		Allocated:       f.states[stateLaunching] + f.states[stateRegistered] + f.states[stateDecommissioning] + len(f.releasing),
		Failed:          f.tally.failed,
		MaxFailures:     f.tally.most,
	}
	if f.tally.validity > 0 {
		counts.Failed = len(f.tally.recent)
	}
	notes := append(f.excluded.notices(), f.tally.notices()...)
	for _, table := range f.tables {
		counts.Requested += table.demand.Total
		counts.Pending += table.asks.outstanding()
		if table.backoff.held > 0 {
			notes = append(notes, table.backoff.text())
		}
	}
	return fleetStatus{counts: counts, failures: f.tally.list(), exclusions: f.excluded.list(), notes: notes}
}

// publish shows what has changed.
func (a *allocator) publish() {
	if !a.fleet.changed {
		return
	}
	a.fleet.changed = false
	status := a.fleet.status()
	a.shown.Lock()
	defer a.shown.Unlock()
	a.shown.fleetStatus = status
}

// snapshot is what was last published. Its lists are not to be changed.
func (a *allocator) snapshot() fleetStatus {
	a.shown.Lock()
	defer a.shown.Unlock()
	return a.shown.fleetStatus
}
