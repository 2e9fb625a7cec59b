package scheduler

import (
	"fmt"
	"strings"
	"time"
)

// WaitReason is why nothing of a task set is launched.
type WaitReason int

// The hindrances, those that time and ends of tasks won't help against first.
const (
	// NotBlocked: nothing of the set waits, or the next offer launches something.
	NotBlocked WaitReason = iota
	// NoExecutors: there is no executor of the set's profile.
	NoExecutors
	// TooLarge: a task takes more than any executor has.
	TooLarge
	// NotEnoughSlots: a barrier set has more tasks than all executors run at once.
	NotEnoughSlots
	// AllDecommissioning: the executors that are large enough are being decommissioned.
	AllDecommissioning
	// AllExcluded: the executors that are large enough are excluded.
	AllExcluded
	// AllBusy: other tasks hold what the set's would take.
	AllBusy
	// WaitingForLocality: what is free is not close enough yet to the places that the
	// tasks prefer.
	WaitingForLocality
)

// WhyWaiting says why nothing of a set is launched, in a text for people, too,
// that goes on after "the set waits: ". It goes through all executors: it is for
// a set that has been waiting for long.
func (s *Scheduler) WhyWaiting(taskSet uint64) (WaitReason, string) {
	set := s.sets[taskSet]
	if set == nil || set.waiting == 0 {
		return NotBlocked, ""
	}
	var all, large, staying, usable, free int
	for _, e := range s.executors {
		if e.host.profile != set.profile {
			continue
		}
		all++
		if e.slots(set) == 0 {
			continue
		}
		large++
		if e.decommissioning {
			continue
		}
		staying++
		if e.excluded || set.excluded.excludes(e) {
			continue
		}
		usable++
		free += e.freeSlots(set)
	}
	needed := 1
	if set.barrier != nil {
		needed = len(set.states)
	}
	switch {
	case all == 0:
		return NoExecutors, fmt.Sprintf("no executor of its resource profile (%d) has registered", set.profile.id)
	case large == 0:
		return TooLarge, fmt.Sprintf("each task takes %s, more than any executor has; there is %s", set.takes(), executors(all))
	case staying == 0:
		return AllDecommissioning, fmt.Sprintf("what is large enough is being decommissioned: %s", executors(large))
	case usable == 0:
		return AllExcluded, fmt.Sprintf("what is large enough is excluded, as tasks failed there: %s", executors(staying))
	case s.slots(set) < needed:
		return NotEnoughSlots, fmt.Sprintf("its %d tasks must run at once, and there is room for %d on %s", needed, s.slots(set), executors(usable))
	case free < needed:
		return AllBusy, fmt.Sprintf("other tasks hold the %s that it may use", executors(usable))
	}
	if s.config.Exclusion.Enabled {
		if index, excluded := s.excludedEverywhere(set); excluded > 0 {
			return AllExcluded, fmt.Sprintf("task %d is excluded from what is large enough, as it failed there: %s", index, executors(excluded))
		}
	}
	if level, left := s.allowed(set); set.barrier == nil && level < Any && set.live[NoPref] == 0 {
		return WaitingForLocality, fmt.Sprintf("it takes no core that is less than %v to its tasks for another %v", level, left.Round(time.Millisecond))
	}
	return NotBlocked, ""
}

// executors counts them for people.
func executors(n int) string {
	if n == 1 {
		return "1 executor"
	}
	return fmt.Sprintf("%d executors", n)
}

// takes says what each task of a set takes of its executor.
func (set *taskSet) takes() string {
	parts := []string{fmt.Sprintf("%d cores", set.cpus)}
	if set.cpus == 1 {
		parts[0] = "1 core"
	}
	for _, r := range set.requests {
		parts = append(parts, fmt.Sprintf("%v of %s", float64(r.amount)/wholeAddress, r.name))
	}
	return strings.Join(parts, " and ")
}
