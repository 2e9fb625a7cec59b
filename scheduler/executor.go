package scheduler

import (
	"cmp"
	"fmt"
	"slices"
)

// Executor is a process that runs tasks.
type Executor struct {
	// ID is the executor's name, unique among the executors that are there.
	ID string
	// Host is the node it runs on, written as the tasks' preferences write it.
	Host string
	// Rack is the host's, "" where it is not known; see Config.RackOf.
	Rack string
	// Profile is the resource profile that it was made by: it runs the tasks of
	// sets that have the same.
	Profile int
	// Cores is how many cores of tasks it runs at a time.
	Cores int
	// Resources are the addresses of each further resource that it has, such as
	// "gpu": {"0", "1"}. They are the scheduler's from then on.
	Resources map[string][]string
}

// maxCores bounds an executor's cores, because executors are found by how many
// of theirs are free.
const maxCores = 1 << 16

// Loss is why an executor is gone.
type Loss struct {
	// Reason is for people: it becomes the reason of the tasks' retries.
	Reason string
	// CountsAsFailure tells a loss that is the application's fault (the process exited
	// or was killed for its memory) from one that is not (preempted, node lost,
	// killed on request). With it every task that was running there has failed
	// once more, but not those that were queued there: they had not begun, or may
	// have ended. These get a core of their own when they run again.
	CountsAsFailure bool
}

// executor is an executor and what it is doing.
type executor struct {
	Executor
	host            *host
	free            int
	decommissioning bool
	// excluded is whether it, or its node, is excluded for the application.
	excluded bool
	// available is whether it may be given tasks: it is neither of these.
	available bool
	resources []resource
	// amounts tells how much of its resources there is.
	amounts string
	// freed is whether it is among the scheduler's freed executors.
	freed bool
	// running are all attempts that it was sent, those in the queue included.
	running []*attempt
	queue   queue
	// window is how many tasks of the set windowSet the queue takes.
	window    int
	windowSet uint64
	links     [scopes]executorLinks
	// order counts executors as they are added.
	order uint64
}

// AddExecutor adds an executor with all its cores free. It is an error when
// one with its ID is there, when ID or Host is empty, or when it has no cores
// or more than 65536, or when an address of a resource is there twice.
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
	if there := s.executors[added.ID]; there != nil {
		return fmt.Errorf("executor %s on host %s: one with this id is there already, on host %s",
			added.ID, added.Host, there.Host)
	}
	resources, amounts, err := newResources(added.Resources)
	if err != nil {
		return fmt.Errorf("executor %s on host %s: %w", added.ID, added.Host, err)
	}
	s.executorsAdded++
	e := &executor{
		Executor: added, host: s.host(s.profile(added.Profile), added.Host), free: added.Cores, resources: resources, amounts: amounts,
		order: s.executorsAdded,
	}
	if e.host.rack == nil && e.Rack != "" {
		s.learnRack(e.Host, e.Rack)
	}
	s.executors[e.ID] = e
	e.excluded = s.excluded.excludes(e)
	e.settle()
	return nil
}

// settle makes an executor available, or not, as is due.
func (e *executor) settle() {
	due := !e.decommissioning && !e.excluded
	if due == e.available {
		return
	}
	p := e.host.profile
	if due {
		e.available = true
		p.addToHost(e, 1)
		provide(e)
		e.noteFreed()
		return
	}
	withdraw(e)
	e.available = false
	p.addToHost(e, -1)
	for _, set := range p.sets {
		// It may have been the other executor for whose sake a task stayed away
		// from the one where it ran.
		set.settled = set.settled && len(set.histories) == 0 && set.stragglers.wanted == 0
	}
}

// DecommissionExecutor gives an executor no more tasks; those it runs go on, and those
// that are queued there are recalled: the answer has a [Recall] if there are any.
// It is for executors that are being decommissioned. One that is not there is no
// error.
func (s *Scheduler) DecommissionExecutor(id string) []Event {
	e := s.executors[id]
	if e == nil {
		return nil
	}
	e.decommissioning = true
	e.settle()
	return e.recall(nil)
}

// RemoveExecutor forgets an executor that is gone. The tasks that it was
// running wait again: the answer has a [TaskRetry] for each, or a
// [TaskSetFailed] where the loss counts and was a failure too many. One that is
// not there is no error.
func (s *Scheduler) RemoveExecutor(id string, loss Loss) []Event {
	e := s.executors[id]
	if e == nil {
		return nil
	}
	e.decommissioning = true
	e.settle()
	delete(s.executors, id)
	delete(s.excluded.failures, id)
	lost := slices.Clone(e.running)
	slices.SortFunc(lost, func(a, b *attempt) int { return cmp.Compare(a.id, b.id) })
	outcomes := make([]Outcome, len(lost))
	for i, a := range lost {
		outcomes[i] = Outcome{Result: Killed, Reason: loss.Reason}
		if loss.CountsAsFailure && a.state == attemptRunning {
			outcomes[i] = Outcome{Result: Failed, Reason: loss.Reason, CountsAsFailure: true}
		}
	}
	for _, a := range lost {
		s.release(a)
	}
	e.host.profile.releaseHost(e.host)
	var events []Event
	for i, a := range lost {
		events = s.conclude(events, a, outcomes[i])
	}
	return events
}

// noteFreed has the next offer look at an executor.
func (e *executor) noteFreed() {
	if p := e.host.profile; !e.freed {
		e.freed = true
		p.freed = append(p.freed, e)
	}
}
