package executorbackend

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// windowWork is how much work an executor queues for each core: several times
	// the round trip of a message to the driver.
	windowWork = time.Millisecond
	// maxWindow is the largest number of tasks that it queues for each core.
	maxWindow = 512
	// paceWeight is the number of tasks over which their duration is averaged.
	paceWeight = 32
	// stallTimeout is how long queued tasks wait without any task starting, before
	// they are returned to the driver, which may have a free core elsewhere.
	stallTimeout = 100 * time.Millisecond
)

// pace is the mean duration of the tasks of the set whose task ended last.
type pace struct {
	taskSet uint64
	mean    time.Duration
}

// window adds the duration of a task, and returns how many tasks of its set an
// executor with this many cores queues.
func (p *pace) window(t *task, took time.Duration, cores int) *wire.Window {
	took = max(took, 1)
	if p.taskSet != t.set.id {
		*p = pace{taskSet: t.set.id, mean: took}
	}
	p.mean += (took - p.mean) / paceWeight
	tasks := min(windowWork/max(p.mean, 1), maxWindow) * time.Duration(cores/t.cpus)
	return &wire.Window{TaskSet: p.taskSet, Tasks: uint32(tasks)}
}

// stallTimer runs while tasks are queued, to find out if none starts. The engine's
// lock guards it.
type stallTimer struct {
	timer     *time.Timer // nil if it does not run
	lastStart time.Time   // of a task
}

// start starts the timer, unless it runs.
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

// recallStalled returns queued tasks to the driver if no task has started for
// stallTimeout.
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

// recallQueued removes all queued tasks and returns their last updates. It is
// called with the lock held.
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
