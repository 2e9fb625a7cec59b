package scheduler

// Executor is a process that runs tasks.
type Executor struct {
	// ID is the executor's name, unique among the executors that are there.
	ID string
	// Host is the node it runs on, written as the tasks' preferences write it.
	Host string
	// Rack is the host's, "" where it is not known; see Config.RackOf.
	Rack string
	// Cores is how many cores of tasks it runs at a time.
	Cores int
}

// Loss is why an executor is gone.
type Loss struct {
	// Reason is for people: it becomes the reason of the tasks' retries.
	Reason string
	// Counts tells a loss that is the application's fault (the process exited
	// or was killed for its memory) from one that is not (preempted, node lost,
	// killed on request). With it every task that was running there has failed
	// once more.
	Counts bool
}

// AddExecutor adds an executor with all its cores free. It is an error when
// one with its ID is there, when ID or Host is empty, or when it has no cores
// or more than 65536.
func (s *Scheduler) AddExecutor(e Executor) error { return nil }

// DrainExecutor gives an executor no more tasks; those it runs go on. It is
// for executors that are being decommissioned. One that is not there is no
// error.
func (s *Scheduler) DrainExecutor(id string) {}

// RemoveExecutor forgets an executor that is gone. The tasks that it was
// running wait again: the answer has a [TaskRetry] for each, or a
// [TaskSetFailed] where the loss counts and was a failure too many. One that is
// not there is no error.
func (s *Scheduler) RemoveExecutor(id string, loss Loss) []Event { return nil }
