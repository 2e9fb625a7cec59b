// Package commit decides which attempt of a task may commit its output.
//
// Two attempts of one task may run at the same time: an attempt and its speculative copy,
// or an attempt on an executor that the driver considers lost and the retry of that
// attempt. The driver asks a [Coordinator] before it allows an attempt to commit, and
// reports to it the end of each attempt that has asked.
package commit

// Coordinator allows one attempt of each task to commit its output: the first that
// asks. If that attempt ends without success, another may be allowed. It is not
// safe for concurrent use.
type Coordinator struct {
	sets map[uint64]map[int]*taskCommit
}

type taskCommit struct {
	committer uint64              // attempt that may commit, 0 if there is none
	done      bool                // set if an attempt has succeeded, after which no other may commit
	ended     map[uint64]struct{} // attempts that ended without success, whose late requests are denied
}

// NewCoordinator returns a coordinator without tasks.
func NewCoordinator() *Coordinator { return &Coordinator{sets: map[uint64]map[int]*taskCommit{}} }

// MayCommit reports whether an attempt of a task may commit its output. If an attempt that
// was allowed to commit asks again while it runs, it is allowed again. An attempt that was
// denied may be allowed later, if the allowed attempt ends without success.
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

// AttemptEnded records the end of an attempt. Call it even for an attempt that has
// not asked to commit, if the caller may still ask for that attempt later.
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

// Forget drops the tasks of a set that is over.
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
