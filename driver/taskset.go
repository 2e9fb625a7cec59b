package driver

import (
	"fmt"
	"math"

	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// TaskSet is one submission to the scheduler: a function and its inputs, a task for
// each.
type TaskSet struct {
	Name     string // for errors, logs and the status
	Function string // its name in package function
	Common   []byte // input of every task, sent to each executor once; at most 1 GiB
	Tasks    []Task
	// Indexes are the indexes of the tasks if they are some tasks of an earlier set;
	// nil for 0, 1, 2, …
	Indexes []int

	// Profile is the resource profile of the executors that run the tasks; nil for
	// the default one. Its ID is ignored. Executors of this process run the tasks of
	// every profile.
	Profile *profile.Profile

	// Priority orders task sets that run first in, first out: lower jobs first, then
	// lower stages. A job's number is the ID of its first submission. If Priority.Job
	// is 0, the set's own ID is the job. A set that repeats tasks of an earlier one
	// keeps its place by the same priority.
	Priority pool.Priority

	// Group names the sets that Driver.CancelGroup cancels together; Description is
	// for people. Either may be "".
	Group, Description string
	// Pool is the set's pool if scheduler.mode is FAIR; "" for pool.Default.
	Pool string
	// Resources are the amounts of further resources that each task takes, by name:
	// whole numbers, or fractions below 1. Nil for the settings task.resource.
	Resources map[string]float64
	// Barrier runs all tasks at the same time, and all again if one fails.
	Barrier bool

	// Collect means that the caller keeps all results: driver.maxResultSize limits
	// their sum, otherwise the size of each.
	Collect bool

	CPUs        int // cores of each task; 0 for task.cpus
	MaxFailures int // of one task before the set fails; 0 for task.maxFailures
}

// Task is one task of a set. It must not be changed while the set runs.
type Task struct {
	Input []byte // at most 1 GiB
	// Executors are the ids of the executors on which the task runs best, Hosts the
	// next best hosts. Without either it runs equally well anywhere.
	Executors, Hosts []string
}

// indexOf returns the index of a task for its function and the listener.
func (s *TaskSet) indexOf(task int) int {
	if s.Indexes != nil {
		return s.Indexes[task]
	}
	return task
}

// TaskError ends a task set if a task failed too often, or in a way that a retry
// cannot help.
type TaskError struct {
	Job        string
	Index      int // of the task
	Failures   int // of the task
	ExecutorID string
	Host       string
	Message    string // of the last failure
	Stack      string // of the last failure, if it was a panic
}

// Error describes the failure in one line. The stack of a panic follows on
// further lines.
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

// check returns an error if the set cannot be sent to executors.
func (s *TaskSet) check() error {
	if len(s.Common) > wire.MaxInput {
		return fmt.Errorf("job %q: what its tasks share takes %d bytes encoded, the most is %d: write it to a file that the tasks read",
			s.Name, len(s.Common), wire.MaxInput)
	}
	if s.Indexes != nil && len(s.Indexes) != len(s.Tasks) {
		return fmt.Errorf("job %q: it has %d tasks and %d indexes", s.Name, len(s.Tasks), len(s.Indexes))
	}
	if s.Indexes != nil && s.Barrier {
		return fmt.Errorf("job %q: a barrier set has all of its tasks: Indexes are for others", s.Name)
	}
	for _, index := range s.Indexes {
		if index < 0 || index > math.MaxInt32 {
			return fmt.Errorf("job %q: index %d must be 0 to %d", s.Name, index, math.MaxInt32)
		}
	}
	for i := range s.Tasks {
		if size := len(s.Tasks[i].Input); size > wire.MaxInput {
			return fmt.Errorf("job %q: the input of task %d takes %d bytes encoded, the most is %d: write it to a file that the task reads",
				s.Name, i, size, wire.MaxInput)
		}
	}
	return nil
}
