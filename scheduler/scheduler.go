package scheduler

import "time"

// Config is what all task sets have in common.
type Config struct {
	// LocalityWaitProcess, LocalityWaitNode and LocalityWaitRack are how long a
	// task set leaves cores unused in hope of a place in the process, on the
	// node and in the rack that a task prefers. Zero: it takes the best place
	// that is free at once.
	LocalityWaitProcess, LocalityWaitNode, LocalityWaitRack time.Duration
	// MaxTaskFailures is how often one task may fail before its set does; 4
	// where it is less than 1.
	MaxTaskFailures int
	// RackOf names a host's rack, "" where it is not known. It is called once
	// for each host and must answer at once. Where it is nil or doesn't know,
	// the rack is the one that the first executor on the host comes with.
	RackOf func(host string) string
}

// Scheduler is the state of all executors and task sets. It is not safe for
// use by several goroutines at once.
type Scheduler struct {
	config Config
}

// New makes a scheduler without executors and task sets.
func New(config Config) *Scheduler {
	return &Scheduler{config: config}
}

// TaskSet is a number of tasks that do the same to different inputs.
type TaskSet struct {
	// ID is the caller's; no two sets have the same at one time.
	ID uint64
	// Name is for people: it is in errors and in the snapshot.
	Name string
	// Tasks is how many tasks there are. A task is known by its index, from 0.
	Tasks int
	// Preferences says where a task runs best. It is called once for each task
	// by Submit, and nothing of its answer is kept. Nil: anywhere.
	Preferences func(index int) Preferences
	// CPUs is how many cores of its executor each task takes; 1 where it is 0.
	CPUs int
	// MaxFailures is how often one task may fail before the set does; as
	// Config.MaxTaskFailures where it is 0.
	MaxFailures int
}

// Preferences are the places where a task runs best.
type Preferences struct {
	// Executors names executors by id, whether they exist or not: running there
	// is process-local.
	Executors []string
	// Hosts names hosts: running there is node-local, and rack-local in the
	// same rack. It should have the hosts of Executors too.
	Hosts []string
}

// Submit adds a task set behind all others. It is an error when a set with its
// ID has not ended, when it has no tasks, or when a number is negative.
func (s *Scheduler) Submit(set TaskSet) error { return nil }

// Cancel ends a task set, successful or not, and answers with a [KillAttempt]
// for each attempt that runs. The set is over when Cancel returns: no other
// event of it comes after those. Its attempts hold their cores until they are
// reported to Finished. A set that is not there is no error.
func (s *Scheduler) Cancel(taskSet uint64, reason string) []Event { return nil }
