package driver

import (
	"context"
	"fmt"
	"math"

	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/internal/wire"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// TaskSet describes tasks to submit together: a function, and the input of each task.
type TaskSet struct {
	Name     string // appears in errors, logs and the status
	Function string // name under which the function is registered in package function
	Shared   []byte // input that all tasks share, sent to each executor once; at most 1 GiB
	Tasks    []Task
	// Indexes are the original indexes of the tasks, if the set repeats some tasks of an earlier
	// set; nil means 0, 1, 2, …
	Indexes []int

	// Profile is the resource profile of the executors; nil means the default profile. Its ID is
	// ignored. If all executors run in the driver's process, Profile has no effect.
	Profile *profile.Profile

	// Priority orders task sets if scheduler.mode is FIFO: by job, then by stage, lower numbers
	// first. If Priority.Job is 0, the set's own ID is used as job. A set that repeats or
	// continues an earlier set must have the earlier set's ID as job, so that both have the same
	// priority.
	Priority pool.Priority

	// Job and Stage are the ids, in events, of the job and the stage that the set belongs to.
	// They are from Driver.NewID. If Job is 0, the set is a job of its own.
	Job, Stage uint64
	// StageInJob describes the set's position in a job of several sets, for people; nil if the
	// set is a job of its own.
	StageInJob *StageInJob

	// Group is a name by which Driver.CancelGroup cancels several sets. Description is text for
	// people. Either may be "".
	Group, Description string
	// Pool is the set's scheduling pool if scheduler.mode is FAIR; "" means pool.Default.
	Pool string
	// Resources are the amounts of resources other than cores, such as GPUs, that each task
	// uses, by name: whole numbers, or fractions below 1. Nil means the amounts in the settings
	// task.resource.NAME.amount.
	Resources map[string]float64
	// Barrier makes all tasks run at the same time. If a task fails, all tasks run again.
	Barrier bool

	// KeepsAllResults is set if the caller stores all results in memory. driver.maxResultSize
	// then limits the total size of the results; otherwise, it limits the size of each result.
	KeepsAllResults bool

	CPUs        int // cores of each task; 0 means task.cpus
	MaxFailures int // number of failures of one task after which the set fails; 0 means task.maxFailures
}

// StageInJob is the position of a task set in a job of several task sets, such as a job of data
// sets.
type StageInJob struct {
	Job    uint64 `json:"job"`    // id of the job, the same for all its sets
	Name   string `json:"name"`   // the job's name
	Number int    `json:"number"` // 1 to Of; a stage that runs again has the same number
	Of     int    `json:"of"`     // number of stages of the job
}

type (
	groupKey struct{}
	poolKey  struct{}
	group    struct{ name, description string }
)

// InGroup returns a context with a group and its description, for [TaskSet.FromContext].
func InGroup(ctx context.Context, name, description string) context.Context {
	return context.WithValue(ctx, groupKey{}, group{name: name, description: description})
}

// InPool returns a context with the name of a pool, for [TaskSet.FromContext].
func InPool(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, poolKey{}, name)
}

// FromContext sets Group and Description if ctx derives from a context of InGroup, and Pool if
// it derives from a context of InPool.
func (s *TaskSet) FromContext(ctx context.Context) {
	if g, ok := ctx.Value(groupKey{}).(group); ok {
		s.Group, s.Description = g.name, g.description
	}
	if pool, ok := ctx.Value(poolKey{}).(string); ok {
		s.Pool = pool
	}
}

// Task is one task of a set. The caller must not change it while the set runs.
type Task struct {
	Input []byte // encoded input of the task; at most 1 GiB
	// Executors are the ids of the executors on which the task prefers to run. Hosts are the
	// hosts that the task prefers if it can run on none of these executors. If both are empty,
	// the task has no preference.
	Executors, Hosts []string
}

// indexOf returns the index that the function and the listener use for a task.
func (s *TaskSet) indexOf(task int) int {
	if s.Indexes != nil {
		return s.Indexes[task]
	}
	return task
}

// TaskError is the error of a task set in which a task has failed too often, or has failed with
// an error whose method Permanent returns true, so that it is not retried.
type TaskError struct {
	Job        string
	Index      int // index of the task
	Failures   int // number of failures of the task that count
	ExecutorID string
	Host       string
	Message    string // error of the latest failure
	Stack      string // stack trace of the latest failure, if it was a panic
}

// Error returns the failure in one line, followed by the stack trace of a panic.
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

// check returns an error if the set is invalid or if an input is too large to be sent.
func (s *TaskSet) check() error {
	if len(s.Shared) > wire.MaxInput {
		return fmt.Errorf("job %q: what its tasks share takes %d bytes encoded, the most is %d: write it to a file that the tasks read",
			s.Name, len(s.Shared), wire.MaxInput)
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
