package dataset

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/codec"
	"github.com/bobbin-yarn/bobbin/internal/profile"
	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

// replication makes second copies of cached partitions. It runs task sets, one at a time,
// whose tasks copy partitions from the executors that store them.
type replication struct {
	engine     *engine
	wanted     map[cachedBlock]int // partitions that need a second copy, with the number of copy tasks so far
	submission *driver.Submission  // the task set that runs; nil if none runs
	waiters    []chan struct{}     // closed when no task set runs
}

// maxCopyTasks is the largest number of tasks for one second copy. A task makes no copy if
// it runs on the executor that already stores the partition. The driver chooses this
// executor if no other one has a free core.
const maxCopyTasks = 4

// update records whether a partition needs a second copy: its level requires two copies,
// and exactly one usable executor stores it.
func (r *replication) update(b cachedBlock) {
	if r.engine.level(b.Node)&replicated == 0 || len(r.engine.executorsStoring(b)) != 1 {
		delete(r.wanted, b)
	} else if _, known := r.wanted[b]; !known {
		r.wanted[b] = 0
	}
}

// level returns the level of a data set; 0 if it is not cached.
func (e *engine) level(r ref) Level {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.levels[r]
}

// executorsStoring returns the usable executors that store a cached partition.
func (e *engine) executorsStoring(b cachedBlock) (executors []*executor) {
	for id := range e.cached[b] {
		if x := e.executors[id]; x != nil && x.usable() {
			executors = append(executors, x)
		}
	}
	return executors
}

// start submits a task set for the second copies that are wanted. If a task set is already
// running, start does nothing, and Ended calls it again.
func (r *replication) start() {
	if r.submission != nil || len(r.wanted) == 0 {
		r.signal()
		return
	}
	spec := driver.TaskSet{
		Name: "second copies of cached partitions", Function: adoptFunction,
		MaxFailures: r.engine.app.MaxFailures, Priority: pool.Priority{Job: 1}, CPUs: 1, Resources: map[string]float64{},
	}
	assigned := map[*executor]int{}
	for b := range r.wanted {
		r.update(b) // executors may have been lost or added since
		tasks, wanted := r.wanted[b]
		if !wanted {
			continue
		}
		if tasks == maxCopyTasks {
			slog.Warn("a cached partition has no second copy: no other executor could store it", "partition", b.id())
			delete(r.wanted, b)
			continue
		}
		from := r.engine.executorsStoring(b)[0]
		to := r.engine.chooseReplica(from, assigned)
		if to == nil {
			continue // the copy stays wanted until another executor registers
		}
		input, err := codec.Encode(adoptInput{Cached: []cachedCopy{{Block: b, Level: r.engine.level(b.Node), Address: from.DataAddress}}})
		if err != nil {
			slog.Warn("a cached partition has no second copy", "partition", b.id(), "error", err)
			delete(r.wanted, b)
			continue
		}
		assigned[to]++
		r.wanted[b]++
		spec.Tasks = append(spec.Tasks, driver.Task{Input: input, Executors: []string{to.ID}})
	}
	if len(spec.Tasks) > 0 {
		var err error
		if r.submission, err = r.engine.app.Driver.Submit(spec, r); err != nil {
			r.submission = nil
			slog.Warn("cached partitions have no second copies", "error", err)
		}
	}
	r.signal()
}

// signal wakes the callers of awaitCopies if no task set is running.
func (r *replication) signal() {
	if r.submission != nil {
		return
	}
	for _, idle := range r.waiters {
		close(idle)
	}
	r.waiters = nil
}

// chooseReplica returns the executor that should store the second copy of a partition.
// first is the executor that stores the first copy. chooseReplica prefers executors on
// other hosts, and among them the one with the fewest copies in assigned. It returns nil if
// no other executor is usable, or if executors have no data ports: they share a process.
func (e *engine) chooseReplica(first *executor, assigned map[*executor]int) *executor {
	var others []*executor
	for _, x := range e.executors {
		if x != first && x.usable() && x.Profile == profile.DefaultID && x.DataAddress != "" && first.DataAddress != "" {
			others = append(others, x)
		}
	}
	if len(others) == 0 {
		return nil
	}
	sameHost := func(x *executor) int {
		if x.Host == first.Host {
			return 1
		}
		return 0
	}
	return slices.MinFunc(others, func(a, b *executor) int {
		return cmp.Or(cmp.Compare(sameHost(a), sameHost(b)), cmp.Compare(assigned[a], assigned[b]), cmp.Compare(a.ID, b.ID))
	})
}

// TaskDone implements driver.Listener.
func (r *replication) TaskDone(result driver.Result) {
	r.engine.post(func() { r.taskDone(result) })
}

// TaskFailed implements driver.Listener.
func (r *replication) TaskFailed(driver.TaskFailure) {}

// Ended implements driver.Listener.
func (r *replication) Ended(err error) {
	r.engine.post(func() {
		if err != nil {
			slog.Warn("second copies of cached partitions were not made", "error", err)
		}
		r.submission = nil
		r.start()
	})
}

func (r *replication) taskDone(result driver.Result) {
	r.submission.Release(len(result.Value))
	output, err := codec.Decode[adoptOutput](result.Value)
	if err != nil {
		r.submission.Cancel(fmt.Errorf("result of task %d: %w", result.Index, err))
		return
	}
	r.engine.addCacheSizes(result.ExecutorID, output.CacheSizes)
	for _, b := range output.Cached {
		r.engine.addStored(b, result.ExecutorID)
	}
}

// awaitCopies waits until no task set that makes second copies is running.
func (e *engine) awaitCopies(ctx context.Context) {
	idle := make(chan struct{})
	e.post(func() {
		e.replication.waiters = append(e.replication.waiters, idle)
		e.replication.signal()
	})
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

var _ driver.Listener = (*replication)(nil)
