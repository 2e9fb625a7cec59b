package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// stuck is a set that cannot go on with the executors that there are.
type stuck struct {
	// since is when it was seen; the zero time where the set can go on.
	since time.Time
	// due is when the set is given up.
	due time.Time
	// reason is for people.
	reason string
}

// Advance says what has become due by the time now: exclusions end, and sets
// are given up that could not go on for too long. Call it with the time of what
// the owner then reports, and at [Scheduler.NextDeadline]; Offer follows. Its
// events are [ExclusionEnded], [TaskSetUnschedulable] and [TaskSetAborted] with the
// [KillAttempt] of the set's attempts.
func (s *Scheduler) Advance(now time.Time) []Event {
	s.setNow(now)
	var events []Event
	if s.config.Exclusion.Enabled {
		events = s.readmit(events)
	}
	for _, set := range s.possiblyStuck() {
		events = s.checkStuck(events, set)
	}
	return events
}

// possiblyStuck are the sets that may be unable to go on, in order: all of them
// while executors are excluded for the application.
func (s *Scheduler) possiblyStuck() []*taskSet {
	sets := s.suspects
	if len(s.excluded.executors)+len(s.excluded.hosts) > 0 {
		sets = s.sets
	}
	return slices.SortedFunc(maps.Values(sets), func(a, b *taskSet) int {
		return cmp.Or(cmp.Compare(a.profile.id, b.profile.id), a.node.rank.compare(b.node.rank))
	})
}

func (s *Scheduler) checkStuck(events []Event, set *taskSet) []Event {
	index, reason, wait := s.whyStuck(set)
	if reason == "" {
		set.stuck = stuck{}
		return events
	}
	if set.stuck.since.IsZero() {
		s.suspects[set.id] = set // until it is over: it is to hear when it can go on
		set.stuck = stuck{since: s.now, due: s.now.Add(wait), reason: reason}
		events = append(events, TaskSetUnschedulable{
			TaskSet: set.id, Index: index, Reason: reason, Until: set.stuck.due, IdleExecutor: s.idleExcluded(set),
		})
	}
	set.stuck.reason = reason
	if s.now.Before(set.stuck.due) {
		return events
	}
	s.end(set)
	events = append(events, TaskSetAborted{
		TaskSet: set.id, Reason: fmt.Sprintf("%s, and no other came within %v", reason, wait), Status: set.status(),
	})
	return set.kill(events, reason)
}

// whyStuck says why a set cannot go on: which task, -1 for all of them, and how
// long it waits for that to change. It can go on where reason is "".
func (s *Scheduler) whyStuck(set *taskSet) (index int, reason string, wait time.Duration) {
	if set.waiting == 0 || set.barrier != nil && set.waiting < len(set.states) {
		return 0, "", 0
	}
	if set.barrier != nil && !s.expecting {
		if slots := s.slots(set); slots < len(set.states) {
			return -1, fmt.Sprintf("the %d tasks of barrier set %s must run at once, and the executors that there are run %d of them",
				len(set.states), set.name, slots), s.config.BarrierTimeout
		}
	}
	if s.config.Exclusion.Enabled {
		if index, executors := s.excludedEverywhere(set); executors > 0 {
			return index, fmt.Sprintf("task %d of %s may run nowhere: all %d executors that are large enough are excluded",
				index, set.name, executors), s.config.Exclusion.UnschedulableTimeout
		}
	}
	return 0, "", 0
}

// excludedEverywhere is a waiting task that is excluded from all executors that
// are large enough for it, and how many these are: 0 where there is no such task.
func (s *Scheduler) excludedEverywhere(set *taskSet) (index, executors int) {
	if set.excluded == nil && len(set.failures.byExecutor) == 0 && len(s.excluded.executors)+len(s.excluded.hosts) == 0 {
		return 0, 0
	}
	returned := 0
	for _, index := range slices.Sorted(maps.Keys(set.histories)) {
		if set.states[index] != taskRetried {
			continue
		}
		returned++
		if executors := s.excludedFrom(set, set.histories[index]); executors > 0 {
			return int(index), executors
		}
	}
	if returned == set.waiting {
		return 0, 0
	}
	executors = s.excludedFrom(set, nil)
	if executors > 0 {
		index = slices.Index(set.states, taskFresh)
	}
	return index, executors
}

// excludedFrom is how many executors are large enough for a task, if it is
// excluded from all of them; else 0.
func (s *Scheduler) excludedFrom(set *taskSet, h *history) int {
	if !set.excluded.isAny() && !h.isExcluded() && set.profile.sizes.fit(set) > 0 {
		return 0
	}
	executors := 0
	for _, e := range s.executors {
		if e.host.profile != set.profile || e.decommissioning || e.slots(set) == 0 {
			continue
		}
		if !e.excluded && !set.excluded.excludes(e) && !h.excludes(e) {
			return 0
		}
		executors++
	}
	return executors
}

// isAny is whether anything is excluded.
func (x *excludedPlaces) isAny() bool { return x != nil && len(x.executors)+len(x.hosts) > 0 }

// idleExcluded is an executor that does nothing for want of tasks that may run
// there, "" where there is none.
func (s *Scheduler) idleExcluded(set *taskSet) string {
	for _, e := range s.inOrder() {
		if e.host.profile == set.profile && !e.decommissioning && len(e.running) == 0 && (e.excluded || set.excluded.excludes(e)) {
			return e.ID
		}
	}
	return ""
}

// nextStuck is when the next set is given up; the zero time where none is stuck.
func (s *Scheduler) nextStuck() time.Time {
	var next time.Time
	for _, set := range s.suspects {
		next = earlier(next, set.stuck.due)
	}
	return next
}
