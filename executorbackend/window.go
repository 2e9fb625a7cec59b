package executorbackend

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// queuedTimePerCore is the total duration of the tasks that an executor queues for
	// each core: several times the round trip of a message to the driver.
	queuedTimePerCore = time.Millisecond
	// maxWindow is the largest number of tasks that an executor queues for each core.
	maxWindow = 512
	// averagedTasks is about how many of the latest task durations are averaged.
	averagedTasks = 32
	// stallTimeout is how long no task may start while tasks are queued. After that, the
	// queued tasks are returned to the driver, which may have a free core elsewhere.
	stallTimeout = 100 * time.Millisecond
)

// taskDurations is the mean duration of the latest tasks of one set: the set of the task
// that ended last.
type taskDurations struct {
	taskSet uint64
	mean    time.Duration
}

// addAndWindow adds the duration of a task that ended, and returns the window: how many tasks
// of the set the driver may queue at an executor with so many cores.
func (p *taskDurations) addAndWindow(t *task, took time.Duration, cores int) *wire.Window {
	took = max(took, 1)
	if p.taskSet != t.set.id {
		*p = taskDurations{taskSet: t.set.id, mean: took}
	}
	p.mean += (took - p.mean) / averagedTasks
	tasks := min(queuedTimePerCore/max(p.mean, 1), maxWindow) * time.Duration(cores/t.cpus)
	return &wire.Window{TaskSet: p.taskSet, Tasks: uint32(tasks)}
}

// stallTimer detects that no queued task starts. The engine's lock guards it.
type stallTimer struct {
	timer     *time.Timer // nil if it does not run
	lastStart time.Time   // when a task was started last
}

// start starts the timer, unless it is running.
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

// recallStalled returns all queued tasks to the driver if none started for stallTimeout.
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

// recallQueued removes all queued tasks and returns their last updates. The caller holds
// the lock.
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
