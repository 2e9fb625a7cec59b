package scheduler

import "time"

// Launch is an attempt to start.
type Launch struct {
	Attempt AttemptID
	TaskSet uint64
	// Index is the task's place in its set.
	Index int
	// Number counts the attempts of the task before this one.
	Number int
	// Executor is the id of the executor to start it on.
	Executor string
	Locality Locality
}

// Offer hands out all the free cores that can be handed out at the time now,
// and says what to launch. It costs next to nothing when there is nothing to
// hand out. Call it after anything that adds executors, cores or tasks, and at
// [Scheduler.NextDeadline]. The time must not go back from call to call; where
// it does, it counts as standing still.
func (s *Scheduler) Offer(now time.Time) []Launch { return nil }

// NextDeadline is the time at which a level of locality opens to a set that
// leaves cores unused until then, if there is one: call Offer then.
func (s *Scheduler) NextDeadline() (time.Time, bool) { return time.Time{}, false }
