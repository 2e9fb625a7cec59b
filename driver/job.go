package driver

import (
	"fmt"
	"math"

	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// TaskSet is a task set to run: a function over inputs.
type TaskSet struct {
	Name     string // for errors, logs and the status
	Function string // the name under which package function has it
	Common   []byte // what the tasks share; goes to each executor once; at most 1 GiB
	Tasks    []Task
	// Indexes are the indexes of the tasks, where these are some of an earlier set's;
	// nil for 0, 1, 2 and so on.
	Indexes []int

	// Profile is what the executors that run the tasks are made of, whatever its
	// ID; nil for the settings'. Executors of this process are of every profile.
	Profile *profile.Profile

	// Priority is the set's place among those that are served first in, first out:
	// behind all sets with a lower job, then with a lower stage. A set that is
	// submitted again, for some tasks of an earlier one, keeps its place so. Jobs are
	// counted as submissions are: the ID of its first submission serves as a job.
	// Where Priority.Job is 0, the set's own ID does.
	Priority pool.Priority

	// Group names the jobs that Driver.CancelGroup cancels together; Description is
	// for people. Either may be "".
	Group, Description string
	// Pool is the one that the job is in, where scheduler.mode is FAIR;
	// pool.Default where it is "".
	Pool string
	// Resources are how much each task takes of each further resource of its
	// executor, by name: a whole number, or a part of one. Nil for what
	// task.resource says.
	Resources map[string]float64
	// Barrier has all tasks run at the same time, and all again when one fails.
	Barrier bool

	// Collect says that whoever runs the job keeps all of its results:
	// driver.maxResultSize limits their sum. Without it, it limits each.
	Collect bool

	CPUs        int // cores that each task takes; 0 is task.cpus
	MaxFailures int // how often one task may fail before the job does; 0 is task.maxFailures
}

// Task is one task of a job. Neither it nor what it refers to may be
// changed while the job runs.
type Task struct {
	Input []byte // at most 1 GiB
	// Executors and Hosts are where the task runs best, by the ids of executors and
	// by name: first in those executors, then on those hosts. Anywhere where both
	// are empty.
	Executors, Hosts []string
}

// indexOf is the index of a task as its function and its listener have it.
func (j *TaskSet) indexOf(task int) int {
	if j.Indexes != nil {
		return j.Indexes[task]
	}
	return task
}

// TaskError ends a job whose task failed too often, or in a way in which
// another try cannot help.
type TaskError struct {
	Job        string
	Index      int // of the task
	Failures   int // how often it failed
	ExecutorID string
	Host       string
	Message    string // of the last failure
	Stack      string // of the last failure, where it was a panic
}

// Error is one line about the failure; where there was a panic, its stack
// stands on the lines after.
func (e *TaskError) Error() string {
	times := "once"
	if e.Failures != 1 {
		times = fmt.Sprintf("%d times", e.Failures)
	}
	text := fmt.Sprintf("task %d of %q failed %s, last on executor %s (%s): %s", e.Index, e.Job, times, e.ExecutorID, e.Host, e.Message)
	if e.Stack != "" {
		text += "\n" + e.Stack
	}
	return text
}

// check finds what no executor could be sent.
func (j *TaskSet) check() error {
	if len(j.Common) > wire.MaxInput {
		return fmt.Errorf("job %q: what its tasks share takes %d bytes encoded, the most is %d: write it to a file that the tasks read",
			j.Name, len(j.Common), wire.MaxInput)
	}
	if j.Indexes != nil && len(j.Indexes) != len(j.Tasks) {
		return fmt.Errorf("job %q: it has %d tasks and %d indexes", j.Name, len(j.Tasks), len(j.Indexes))
	}
	if j.Indexes != nil && j.Barrier {
		return fmt.Errorf("job %q: a barrier set has all of its tasks: Indexes are for others", j.Name)
	}
	for _, index := range j.Indexes {
		if index < 0 || index > math.MaxInt32 {
			return fmt.Errorf("job %q: index %d must be 0 to %d", j.Name, index, math.MaxInt32)
		}
	}
	for i := range j.Tasks {
		if size := len(j.Tasks[i].Input); size > wire.MaxInput {
			return fmt.Errorf("job %q: the input of task %d takes %d bytes encoded, the most is %d: write it to a file that the task reads",
				j.Name, i, size, wire.MaxInput)
		}
	}
	return nil
}
