package executorbackend

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// queuedTimePerCore is the total run time of the tasks that are queued at an executor for
	// each core. It is several times the round trip of a message to the driver.
	queuedTimePerCore = time.Millisecond
	// maxWindow is the largest number of tasks that are queued at an executor for each core.
	maxWindow = 512
	// averagedTasks is the approximate number of latest tasks over which run times are averaged.
	averagedTasks = 32
	// stallTimeout is how long the executor waits for any task to start while tasks are queued.
	// Then it returns the queued tasks to the driver, because other executors may have free
	// cores.
	stallTimeout = 100 * time.Millisecond
)

// taskDurations is the mean duration of the latest tasks of one task set. When a task of another
// set ends, the mean starts again for that set.
type taskDurations struct {
	taskSet uint64
	mean    time.Duration
}

// addAndWindow adds the duration of a task that ended. It returns the window: how many tasks of
// the task's set the driver may queue at this executor, which has the given number of cores.
func (p *taskDurations) addAndWindow(t *task, took time.Duration, cores int) *wire.Window {
	took = max(took, 1)
	if p.taskSet != t.set.id {
		*p = taskDurations{taskSet: t.set.id, mean: took}
	}
	p.mean += (took - p.mean) / averagedTasks
	tasks := min(queuedTimePerCore/max(p.mean, 1), maxWindow) * time.Duration(cores/t.cpus)
	return &wire.Window{TaskSet: p.taskSet, Tasks: uint32(tasks)}
}

// stallTimer runs while tasks are queued, to detect that none of them starts. The engine's lock
// guards it.
type stallTimer struct {
	timer     *time.Timer // nil while the timer is stopped
	lastStart time.Time   // when the latest task was started
}

// start starts the timer if it is not running.
func (s *stallTimer) start(expired func()) {
	if s.timer == nil {
		s.timer = time.AfterFunc(stallTimeout, expired)
	}
}

func (s *stallTimer) stop() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// recallStalled returns all queued tasks to the driver if no task has started for stallTimeout.
func (e *engine) recallStalled() {
	e.mu.Lock()
	e.stall.timer = nil
	if e.ended {
		e.mu.Unlock()
		return
	}
	e.running.Add(1)
	defer e.running.Done()
	var recalled []*wire.TaskUpdate
	if time.Since(e.stall.lastStart) >= stallTimeout {
		recalled = e.recallQueued()
	} else if slices.ContainsFunc(e.waiting, func(t *task) bool { return t.launch.GetQueued() }) {
		e.stall.start(e.recallStalled)
	}
	e.mu.Unlock()
	e.out.put(recalled...)
}

// recallQueued removes all queued tasks, and returns the updates that return them to the driver.
// The caller holds the lock.
func (e *engine) recallQueued() (updates []*wire.TaskUpdate) {
	e.waiting = slices.DeleteFunc(e.waiting, func(t *task) bool {
		if !t.launch.GetQueued() {
			return false
		}
		t.cancel(nil)
		delete(e.tasks, t.attempt)
		updates = append(updates, &wire.TaskUpdate{Attempt: t.attempt, State: wire.TaskState_TASK_STATE_RECALLED})
		return true
	})
	return updates
}
