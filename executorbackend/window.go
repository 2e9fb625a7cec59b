package executorbackend

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

const (
	// windowWork is how much work an executor queues for each of its cores. It is
	// several times what a message to the driver and its answer take.
	windowWork = time.Millisecond
	// maxWindow is how many tasks it queues for each core at the most.
	maxWindow = 512
	// paceWeight is over how many tasks their time is averaged.
	paceWeight = 32
	// giveBackAfter is how long queued tasks wait while no task is started, before
	// they go back to the driver, which may have a free core elsewhere.
	giveBackAfter = 100 * time.Millisecond
)

// pace is about how long the tasks of one set take, the latest of which one
// ended here.
type pace struct {
	taskSet uint64
	mean    time.Duration
}

// window takes a task that ran for so long into account, and returns how many of
// its set an executor of so many cores queues.
func (p *pace) window(t *task, took time.Duration, cores int) *wire.Window {
	took = max(took, 1)
	if p.taskSet != t.set.id {
		*p = pace{taskSet: t.set.id, mean: took}
	}
	p.mean += (took - p.mean) / paceWeight
	tasks := min(windowWork/max(p.mean, 1), maxWindow) * time.Duration(cores/t.cpus)
	return &wire.Window{TaskSet: p.taskSet, Tasks: uint32(tasks)}
}

// impatience gives queued tasks back that wait too long. The engine's lock guards
// it.
type impatience struct {
	timer *time.Timer // nil where none waits
	moved time.Time   // when a task was started last
}

// watch has giveBack called in time, unless that is due already.
func (i *impatience) watch(giveBack func()) {
	if i.timer == nil {
		i.timer = time.AfterFunc(giveBackAfter, giveBack)
	}
}

func (i *impatience) stop() {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

// giveBackLate gives back what is queued, if no task was started for long enough.
func (e *engine) giveBackLate() {
	e.mu.Lock()
	e.impatience.timer = nil
	if e.ended {
		e.mu.Unlock()
		return
	}
	e.running.Add(1)
	defer e.running.Done()
	var returned []*wire.TaskUpdate
	if time.Since(e.impatience.moved) >= giveBackAfter {
		returned = e.giveBackQueued()
	} else if slices.ContainsFunc(e.waiting, func(t *task) bool { return t.launch.GetQueued() }) {
		e.impatience.watch(e.giveBackLate)
	}
	e.mu.Unlock()
	e.out.put(returned...)
}

// giveBackQueued takes out all that is queued, and returns the last updates of
// it. It is called with the lock held.
func (e *engine) giveBackQueued() (updates []*wire.TaskUpdate) {
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
