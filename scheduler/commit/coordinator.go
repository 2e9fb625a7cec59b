// Package commit decides which attempt of a task may commit its output.
//
// Two attempts of one task may run at the same time: an attempt and its speculative copy, or an
// attempt on an executor that the driver considers lost and the retry of that attempt. The
// driver calls [Coordinator.MayCommit] before it allows an attempt to commit, and
// [Coordinator.AttemptEnded] when such an attempt ends.
package commit

// Coordinator allows one attempt of each task to commit its output: the first for which
// MayCommit is called. If that attempt ends without success, another attempt may be allowed. A
// Coordinator is not safe for concurrent use.
type Coordinator struct {
	sets map[uint64]map[int]*taskCommit
}

type taskCommit struct {
	committer uint64              // attempt that may commit, 0 if there is none
	done      bool                // an attempt has succeeded; no other attempt may commit
	ended     map[uint64]struct{} // attempts that ended without success; late calls of MayCommit return false for them
}

// NewCoordinator returns a coordinator without tasks.
func NewCoordinator() *Coordinator { return &Coordinator{sets: map[uint64]map[int]*taskCommit{}} }

// MayCommit reports whether an attempt of a task may commit its output. Further calls for an
// allowed attempt return true until the attempt ends. An attempt that was denied may be allowed
// later, if the allowed attempt ends without success.
func (c *Coordinator) MayCommit(taskSet uint64, index int, attempt uint64) bool {
	t := c.task(taskSet, index)
	if _, ended := t.ended[attempt]; ended {
		return false
	}
	if t.committer == 0 && !t.done {
		t.committer = attempt
	}
	return t.committer == attempt
}

// AttemptEnded records the end of an attempt. Call it even for an attempt for which MayCommit
// was not called, if a late call of MayCommit is possible.
func (c *Coordinator) AttemptEnded(taskSet uint64, index int, attempt uint64, succeeded bool) {
	t := c.task(taskSet, index)
	if succeeded {
		t.done = true
		return
	}
	if t.committer == attempt && !t.done {
		t.committer = 0
	}
	if t.ended == nil {
		t.ended = map[uint64]struct{}{}
	}
	t.ended[attempt] = struct{}{}
}

// Forget removes the state of a set that has ended.
func (c *Coordinator) Forget(taskSet uint64) { delete(c.sets, taskSet) }

func (c *Coordinator) task(taskSet uint64, index int) *taskCommit {
	tasks := c.sets[taskSet]
	if tasks == nil {
		tasks = map[int]*taskCommit{}
		c.sets[taskSet] = tasks
	}
	if tasks[index] == nil {
		tasks[index] = &taskCommit{}
	}
	return tasks[index]
}
