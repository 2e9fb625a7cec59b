package scheduler

// Commits decides which attempt of a task may commit its output: the first that
// asks, until that attempt ends without success. Like a Scheduler it is a plain
// value for one goroutine.
type Commits struct {
	sets map[uint64]map[int]*committer
}

// committer is what is known of the commits of one task.
type committer struct {
	// holder is the attempt that may commit, 0 where none does.
	holder AttemptID
	// done is whether the task has its result, so that nobody may commit now.
	done bool
	// denied are attempts that ended: what they ask for comes too late.
	denied map[AttemptID]struct{}
}

// NewCommits makes one that knows of no task.
func NewCommits() *Commits { return &Commits{sets: map[uint64]map[int]*committer{}} }

// Ask is whether an attempt of a task may commit its output. It may ask again,
// and gets the same answer as long as it runs.
func (c *Commits) Ask(taskSet uint64, index int, attempt AttemptID) bool {
	task := c.task(taskSet, index)
	if _, ended := task.denied[attempt]; ended {
		return false
	}
	if task.holder == 0 && !task.done {
		task.holder = attempt
	}
	return task.holder == attempt
}

// Ended says that an attempt of a task ended, with its result or without. Say it
// of each: one that may have asked, or may ask yet as its message is on its way.
func (c *Commits) Ended(taskSet uint64, index int, attempt AttemptID, succeeded bool) {
	task := c.task(taskSet, index)
	if succeeded {
		task.done = true
		return
	}
	if task.holder == attempt && !task.done {
		task.holder = 0
	}
	if task.denied == nil {
		task.denied = map[AttemptID]struct{}{}
	}
	task.denied[attempt] = struct{}{}
}

// Forget drops what is known of a set that is over.
func (c *Commits) Forget(taskSet uint64) { delete(c.sets, taskSet) }

func (c *Commits) task(taskSet uint64, index int) *committer {
	tasks := c.sets[taskSet]
	if tasks == nil {
		tasks = map[int]*committer{}
		c.sets[taskSet] = tasks
	}
	if tasks[index] == nil {
		tasks[index] = &committer{}
	}
	return tasks[index]
}
