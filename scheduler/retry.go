package scheduler

import (
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
)

// history counts the attempts of a task that ended without a result.
type history struct {
	attempts, failures         int    // attempts that ended without a result; how many of them count as failures
	failedExecutor, failedHost string // executor and host of the latest failure
	exclusion                  exclusion.TaskFailures
}

func (h *history) excludes(e *executor) bool { return h != nil && h.exclusion.Excludes(e.ID, e.Host) }

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

// avoids reports whether a task must not be retried on an executor. If exclusion is enabled, a
// task avoids the executors that are excluded for it. Otherwise, it avoids the host of its
// latest failure if another host has a large enough executor. If no other host has one, it
// avoids the executor of its latest failure if the host has another large enough executor.
func (set *taskSet) avoids(index int32, e *executor) bool {
	h := set.histories[index]
	switch {
	case h == nil:
		return false
	case set.profile.config.Exclusion.Enabled:
		return h.excludes(e)
	case h.failedHost != e.Host:
		return false
	}
	here := e.host.sizes.largeEnough(set)
	return set.profile.sizes.largeEnough(set) > here || (h.failedExecutor == e.ID && here > 1)
}

// addFailure records that an attempt ended without a result. If the task has now failed too
// often, it ends the set. It returns how often the task has failed, and the events.
func (s *Scheduler) addFailure(events []Event, a *attempt, outcome Outcome) (int, []Event) {
	set := a.set
	if outcome.Result == ResultRecalled && a.otherAttempt == nil { // a recalled attempt is treated as if it had not been launched
		if h := set.histories[a.index]; h != nil {
			return h.failures, events
		}
		return 0, events
	}
	h := set.history(a.index)
	h.attempts++
	if outcome.Result != ResultFailed {
		return h.failures, events
	}
	h.failedExecutor, h.failedHost = a.executor.ID, a.executor.Host
	if !outcome.CountsAsFailure {
		return h.failures, events
	}
	h.failures++
	if h.failures < set.maxFailures {
		if s.config.Exclusion.Enabled {
			h.exclusion.AddFailure(&s.config.Exclusion, a.executor.ID, a.executor.Host)
			events = s.excludeForSet(events, a)
		}
		return h.failures, events
	}
	s.endSet(set)
	events = append(events, TaskSetFailed{
		TaskSet: set.id, Index: int(a.index), Attempt: a.id, FailureCount: h.failures, Reason: outcome.Reason,
	})
	return h.failures, set.kill(events, fmt.Sprintf("task %d of %s failed %d times", a.index, set.name, h.failures))
}

// CountFailure counts the loss of an executor as a failure of a task. It is for a loss that was
// reported to RemoveExecutor without CountsAsFailure. It returns how often the task has failed;
// 0 if the task has a result or its set has ended. If the task has failed too often, the caller
// must cancel the set.
func (s *Scheduler) CountFailure(taskSet uint64, index int) (failures int) {
	set := s.sets[taskSet]
	if set == nil || set.states[index] == taskDone {
		return 0
	}
	h := set.history(int32(index))
	h.failures++
	return h.failures
}

// excludeForSet counts a failure of a task for the task's set. If the failure excludes the
// executor, or also its node, for the set, it appends the events.
func (s *Scheduler) excludeForSet(events []Event, a *attempt) []Event {
	set, e := a.set, a.executor
	s.possiblyBlocked[set.id] = set
	tasks, executors := set.exclusion.AddFailure(&s.config.Exclusion, a.index, e.ID, e.Host, s.clock.now)
	if tasks == 0 {
		return events
	}
	events = e.recall(append(events, Excluded{TaskSet: set.id, Executor: e.ID, Host: e.Host, Failures: tasks}))
	if executors > 0 {
		events = append(events, Excluded{TaskSet: set.id, Host: e.Host, Failures: executors})
		for _, other := range s.executorsOnHost(e.Host) {
			events = other.recall(events)
		}
	}
	return events
}

// excludeForApplication is called when a set has succeeded. It counts the set's failures towards
// exclusions for the application, and appends events for the executors and nodes that are then
// excluded.
func (s *Scheduler) excludeForApplication(events []Event, set *taskSet) []Event {
	if !set.exclusion.HasFailures() {
		return events
	}
	rules := &s.config.Exclusion
	alive := func(id string) bool { return s.executors[id] != nil }
	for _, x := range s.exclusion.AddSet(rules, &set.exclusion, alive, s.clock.now) {
		events = append(events, Excluded{Application: true, Executor: x.Executor, Host: x.Node, Failures: x.FailedTasks, Until: x.Until})
		excluded := []*executor{s.executors[x.Executor]}
		if x.ExcludedExecutors > 0 {
			events = append(events, Excluded{Application: true, Host: x.Node, Failures: x.ExcludedExecutors, Until: x.Until})
			others := slices.DeleteFunc(s.executorsOnHost(x.Node), func(e *executor) bool { return e.ID == x.Executor })
			excluded = append(excluded, others...)
		}
		for _, e := range excluded {
			e.excluded = true
			e.updateAvailable()
			events = e.recall(events)
			if rules.KillExcluded && !e.decommissioning {
				events = append(events, KillExecutor{Executor: e.ID, Reason: fmt.Sprintf("excluded for the application: too many tasks failed on host %s", x.Node)})
			}
		}
	}
	return events
}

// executorsOnHost returns the executors on a host, in the order in which they were added.
func (s *Scheduler) executorsOnHost(host string) []*executor {
	return slices.DeleteFunc(sortedByOrder(s.executors), func(e *executor) bool { return e.Host != host })
}

// endExclusions ends the exclusions for the application that have expired, and appends the
// events.
func (s *Scheduler) endExclusions(events []Event) []Event {
	ended := s.exclusion.Expire(s.clock.now)
	for _, x := range ended {
		events = append(events, ExclusionEnded{Executor: x.Executor, Host: x.Node})
	}
	if len(ended) > 0 {
		for _, e := range sortedByOrder(s.executors) {
			e.excluded = s.exclusion.Excludes(e.ID, e.Host)
			e.updateAvailable()
		}
	}
	return events
}

// ExcludedNodes returns the names, sorted, of the nodes that are excluded for the application.
// An executor that is added on an excluded node gets no tasks.
func (s *Scheduler) ExcludedNodes() []string { return s.exclusion.Nodes() }
