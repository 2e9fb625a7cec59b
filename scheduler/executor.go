package scheduler

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/scheduler/resource"
)

// Executor is a process that runs tasks.
type Executor struct {
	ID        string              // unique among the executors that are alive
	Host      string              // name of the executor's node, spelled as in Preferences.Hosts
	Rack      string              // rack of the host, "" if it is not known; see Config.RackOf
	Profile   int                 // id of the resource profile whose task sets the executor runs
	Cores     int                 // how many cores its tasks may use at the same time
	Resources map[string][]string // addresses of resources other than cores, by name, such as "gpu": {"0", "1"}
}

// maxCores is the largest number of cores of an executor. It bounds the memory of freeCores,
// which has a list for each number of free cores.
const maxCores = 1 << 16

// Loss describes why an executor was lost.
type Loss struct {
	Reason string // text for people; reported as the reason why the executor's attempts ended
	// CountsAsFailure is true if the application may have caused the loss: the process exited,
	// or was killed because it used too much memory. It is false if the executor was preempted,
	// was killed on request, or was on a lost node. If it is true, the loss counts as a failure
	// of every task that was certainly running on the executor. A task that was queued at the
	// executor may not have started. It is retried without a failure, but is not queued again.
	CountsAsFailure bool
}

// executor is an executor and the attempts that were launched on it.
type executor struct {
	Executor
	profile         *profile
	host            *host
	free            int
	decommissioning bool
	excluded        bool // the executor or its node is excluded for the application
	available       bool // tasks may be launched on it: neither decommissioning nor excluded
	resources       resource.Inventory
	newlyFree       bool       // whether the executor is in cluster.newlyFree
	running         []*attempt // attempts that were launched on the executor and have not ended, including queued ones
	queue           queue
	// window is how many attempts of the set with the id windowSet may be queued at the
	// executor.
	window    int
	windowSet uint64
	links     [scopes]executorLinks
	addedAs   uint64 // number of the executor, counted from 1 in the order in which executors were added
}

// AddExecutor adds an executor, all of whose cores are free. It fails if there is
// an executor with the same ID, if ID or Host is empty, if it has no cores or more
// than 65536, or if a resource has the same address twice.
func (s *Scheduler) AddExecutor(added Executor) error {
	switch {
	case added.ID == "":
		return fmt.Errorf("executor on host %q: it has no id", added.Host)
	case added.Host == "":
		return fmt.Errorf("executor %s: it has no host", added.ID)
	case added.Cores < 1 || added.Cores > maxCores:
		return fmt.Errorf("executor %s on host %s: it has %d cores, which must be 1 to %d",
			added.ID, added.Host, added.Cores, maxCores)
	}
	if other := s.executors[added.ID]; other != nil {
		return fmt.Errorf("executor %s on host %s: one with this id is there already, on host %s",
			added.ID, added.Host, other.Host)
	}
	resources, err := resource.NewInventory(added.Resources)
	if err != nil {
		return fmt.Errorf("executor %s on host %s: %w", added.ID, added.Host, err)
	}
	s.executorsAdded++
	p := s.profile(added.Profile)
	e := &executor{
		Executor: added, profile: p, host: p.reference(added.Host), free: added.Cores, resources: resources, addedAs: s.executorsAdded,
	}
	if e.host.rack == nil && e.Rack != "" {
		s.setRackOf(e.Host, e.Rack)
	}
	s.executors[e.ID], p.executors[e.ID] = e, e
	e.excluded = s.exclusion.Excludes(e.ID, e.Host)
	e.updateAvailable()
	return nil
}

// rackOf returns a host's rack, from Config.RackOf or an executor; "" if unknown.
func (s *Scheduler) rackOf(host string) string {
	if s.config.RackOf != nil {
		if rack := s.config.RackOf(host); rack != "" {
			return rack
		}
	}
	for _, p := range s.profiles {
		if h := p.hosts[host]; h != nil && h.rack != nil {
			return h.rack.name
		}
	}
	return ""
}

// setRackOf sets the rack of a host in the clusters of all profiles.
func (s *Scheduler) setRackOf(host, rack string) {
	for _, p := range s.profiles {
		h := p.hosts[host]
		if h == nil {
			continue
		}
		p.setRack(h, rack)
		for _, set := range p.sets {
			set.rackBecameKnown(h)
			set.exhausted = false // tasks may be rack-local on other executors now
		}
	}
}

// updateAvailable recomputes e.available after e.decommissioning or e.excluded has changed.
func (e *executor) updateAvailable() {
	available, change := !e.decommissioning && !e.excluded, -1
	if available == e.available {
		return
	}
	if available {
		change = 1
	}
	e.profile.setAvailable(e, available)
	for _, set := range e.profile.sets {
		set.executorChanged(e, change)
		if !available && (len(set.histories) > 0 || set.speculativeCopies.neededCount > 0) {
			// A retry or a copy avoids some executors only while others are available. Now that
			// e is unavailable, a retry or copy may run on an executor that it avoided before.
			// So the next offer must try all executors.
			set.exhausted = false
		}
	}
}

// DecommissionExecutor makes the scheduler launch no more tasks on an executor. Running attempts
// continue. If attempts are queued at the executor, it returns a [Recall]. An unknown executor
// is ignored.
func (s *Scheduler) DecommissionExecutor(id string) []Event {
	e := s.executors[id]
	if e == nil {
		return nil
	}
	e.decommissioning = true
	e.updateAvailable()
	return e.recall(nil)
}

// RemoveExecutor removes an executor that was lost or has stopped. The tasks of its attempts are
// retried. RemoveExecutor returns an [AttemptEnded] for each of these attempts. If the loss
// counts as a failure and a task has now failed too often, it returns a [TaskSetFailed] for the
// task's set. An unknown executor is ignored.
func (s *Scheduler) RemoveExecutor(id string, loss Loss) []Event {
	e := s.executors[id]
	if e == nil {
		return nil
	}
	e.decommissioning = true
	e.updateAvailable()
	delete(s.executors, id)
	delete(e.profile.executors, id)
	s.exclusion.RemoveExecutor(id)
	lost := byID(e.running)
	for _, a := range lost {
		s.attempts.remove(a)
	}
	e.profile.release(e.host)
	var events []Event
	for _, a := range lost {
		outcome := Outcome{Result: ResultKilled, Reason: loss.Reason}
		if loss.CountsAsFailure && a.state == attemptRunning {
			outcome.Result, outcome.CountsAsFailure = ResultFailed, true
		}
		events = s.endAttempt(events, a, outcome)
	}
	return events
}
