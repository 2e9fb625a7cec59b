package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// blockedState records since when a task set is blocked: it cannot continue with the present
// executors.
type blockedState struct {
	since   time.Time // when the set was found blocked; zero if it is not blocked
	abortAt time.Time // when the set is aborted if it is still blocked
}

// checkBlocked appends an event for each set that became blocked, and aborts sets that have been
// blocked for too long.
func (s *Scheduler) checkBlocked(events []Event) []Event {
	sets := s.possiblyBlocked
	if s.exclusion.Any() {
		sets = s.sets
	}
	inOrder := slices.SortedFunc(maps.Values(sets), func(a, b *taskSet) int {
		return cmp.Or(cmp.Compare(a.profile.id, b.profile.id), a.node.Compare(b.node))
	})
	for _, set := range inOrder {
		events = s.checkSet(events, set)
	}
	return events
}

func (s *Scheduler) checkSet(events []Event, set *taskSet) []Event {
	index, reason, wait := s.whyBlocked(set)
	if reason == "" {
		set.blocked = blockedState{}
		return events
	}
	if set.blocked.since.IsZero() {
		s.possiblyBlocked[set.id] = set // checked again until the set is no longer blocked or has ended
		set.blocked = blockedState{since: s.clock.now, abortAt: s.clock.now.Add(wait)}
		events = append(events, TaskSetUnschedulable{
			TaskSet: set.id, Index: index, Reason: reason, Until: set.blocked.abortAt, IdleExecutor: set.idleExcludedExecutor(),
		})
	}
	if s.clock.now.Before(set.blocked.abortAt) {
		return events
	}
	s.endSet(set)
	events = append(events, TaskSetAborted{
		TaskSet: set.id, Reason: fmt.Sprintf("%s, and no other came within %v", reason, wait),
	})
	return set.kill(events, reason)
}

// whyBlocked returns why a set is blocked, and how long it may be blocked before it is aborted.
// The reason is "" if the set is not blocked. index is the index of a task that no executor may
// run; -1 means all tasks.
func (s *Scheduler) whyBlocked(set *taskSet) (index int, reason string, wait time.Duration) {
	if set.waiting == 0 || set.barrier != nil && set.waiting < len(set.states) {
		return 0, "", 0
	}
	if set.barrier != nil && !s.delays.expectsExecutors {
		if slots := set.profile.slots(set); slots < len(set.states) {
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

// excludedEverywhere returns the index of a waiting task for which all large enough executors
// are excluded, and the number of these executors. It returns 0 executors if there is no such
// task.
func (s *Scheduler) excludedEverywhere(set *taskSet) (index, executors int) {
	if !set.exclusion.HasFailures() && !s.exclusion.Any() {
		return 0, 0
	}
	retries := 0
	for _, index := range slices.Sorted(maps.Keys(set.histories)) {
		if set.states[index] != taskRetry {
			continue
		}
		retries++
		if executors := set.excludedFrom(set.histories[index]); executors > 0 {
			return int(index), executors
		}
	}
	if retries == set.waiting {
		return 0, 0
	}
	executors = set.excludedFrom(nil)
	if executors > 0 {
		index = slices.Index(set.states, taskFresh)
	}
	return index, executors
}

// excludedFrom returns the number of executors that are large enough for a task if all of them
// are excluded for the task, else 0. h is the task's history; nil if no attempt of the task has
// ended without a result.
func (set *taskSet) excludedFrom(h *history) int {
	if !set.exclusion.Any() && (h == nil || !h.exclusion.Any()) && set.profile.sizes.largeEnough(set) > 0 {
		return 0
	}
	executors := 0
	for _, e := range set.profile.executors {
		if e.decommissioning || e.slots(set) == 0 {
			continue
		}
		if !e.excluded && !set.excludes(e) && !h.excludes(e) {
			return 0
		}
		executors++
	}
	return executors
}

// idleExcludedExecutor returns the id of an excluded executor without attempts, "" if there is
// none.
func (set *taskSet) idleExcludedExecutor() string {
	for _, e := range sortedByOrder(set.profile.executors) {
		if !e.decommissioning && len(e.running) == 0 && (e.excluded || set.excludes(e)) {
			return e.ID
		}
	}
	return ""
}

// nextAbort returns the next time at which a blocked set is aborted; the zero time if no set is
// blocked.
func (s *Scheduler) nextAbort() time.Time {
	var next time.Time
	for _, set := range s.possiblyBlocked {
		next = earlier(next, set.blocked.abortAt)
	}
	return next
}

// WaitReason is why no task of a set is launched.
type WaitReason int

// The reasons to wait. Only WaitAllBusy and WaitForLocality can be resolved by the end of other
// tasks.
const (
	// WaitNone: no task of the set waits, or the next offer launches one.
	WaitNone WaitReason = iota
	// WaitNoExecutors: the set's resource profile has no executor.
	WaitNoExecutors
	// WaitTaskTooLarge: each task requests more cores or resources than any executor has.
	WaitTaskTooLarge
	// WaitTooFewSlots: a barrier set has more tasks than usable executors can run at once.
	WaitTooFewSlots
	// WaitAllDecommissioning: all large enough executors are being decommissioned.
	WaitAllDecommissioning
	// WaitAllExcluded: all large enough executors are excluded.
	WaitAllExcluded
	// WaitAllBusy: other tasks use the cores or resources that the set needs.
	WaitAllBusy
	// WaitForLocality: cores are free, but the set leaves them unused while it waits for more
	// local cores (delay scheduling).
	WaitForLocality
)

// WhyWaiting returns why no task of a set is launched, as a constant and as text to append to
// "the set waits: ". A call visits all executors, so call it only for sets that have waited for
// long.
func (s *Scheduler) WhyWaiting(taskSet uint64) (WaitReason, string) {
	set := s.sets[taskSet]
	if set == nil || set.waiting == 0 {
		return WaitNone, ""
	}
	var largeEnough, remaining, usable, free int
	for _, e := range set.profile.executors {
		if e.slots(set) == 0 {
			continue
		}
		largeEnough++
		if e.decommissioning {
			continue
		}
		remaining++
		if e.excluded || set.excludes(e) {
			continue
		}
		usable++
		free += e.freeSlots(set)
	}
	needed := 1
	if set.barrier != nil {
		needed = len(set.states)
	}
	total, slots := len(set.profile.executors), set.profile.slots(set)
	switch {
	case total == 0:
		return WaitNoExecutors, fmt.Sprintf("no executor of its resource profile (%d) has registered", set.profile.id)
	case largeEnough == 0:
		return WaitTaskTooLarge, fmt.Sprintf("each task takes %s, more than any executor has; there is %s", set.requestText(), executorCountText(total))
	case remaining == 0:
		return WaitAllDecommissioning, fmt.Sprintf("what is large enough is being decommissioned: %s", executorCountText(largeEnough))
	case usable == 0:
		return WaitAllExcluded, fmt.Sprintf("what is large enough is excluded, as tasks failed there: %s", executorCountText(remaining))
	case slots < needed:
		return WaitTooFewSlots, fmt.Sprintf("its %d tasks must run at once, and there is room for %d on %s", needed, slots, executorCountText(usable))
	case free < needed:
		return WaitAllBusy, fmt.Sprintf("other tasks hold the %s that it may use", executorCountText(usable))
	}
	if s.config.Exclusion.Enabled {
		if index, excluded := s.excludedEverywhere(set); excluded > 0 {
			return WaitAllExcluded, fmt.Sprintf("task %d is excluded from what is large enough, as it failed there: %s", index, executorCountText(excluded))
		}
	}
	if level, left := s.delays.openLevel(set); set.barrier == nil && level < Any && set.availableCounts[NoPref] == 0 {
		return WaitForLocality, fmt.Sprintf("it takes no core that is less than %v to its tasks for another %v", level, left.Round(time.Millisecond))
	}
	return WaitNone, ""
}

func executorCountText(n int) string {
	if n == 1 {
		return "1 executor"
	}
	return fmt.Sprintf("%d executors", n)
}

// requestText returns as text how many cores and other resources each task of a set requests.
func (set *taskSet) requestText() string {
	cores := fmt.Sprintf("%d cores", set.cpus)
	if set.cpus == 1 {
		cores = "1 core"
	}
	return strings.Join(append([]string{cores}, set.requests.Strings()...), " and ")
}
