package executorbackend

import (
	"fmt"
	"time"
)

// reap gives a task up that was killed and does not end: it is told to be
// killed, and as its core is lost, this executor leaves, so that another can come
// in its place. Where none would come the task is only named.
func (e *engine) reap(t *task, reason string) {
	e.mu.Lock()
	if e.tasks[t.attempt] != t || e.ended {
		e.mu.Unlock()
		return
	}
	e.running.Add(1)
	defer e.running.Done()
	if e.options.replaceable {
		t.givenUp = true
		delete(e.tasks, t.attempt)
		e.stuck[t] = struct{}{}
	}
	e.mu.Unlock()

	waited := e.killTimeout.Round(time.Millisecond)
	e.options.Logger.Error("a task does not end though it was killed: its function does not heed its context",
		"taskSet", t.set.name, "task", t.index, "killed", reason, "waited", waited)
	if !e.options.replaceable {
		return
	}
	e.leave(ExitStuckTask, fmt.Sprintf("task %d of %q did not end within %v though it was killed", t.index, t.set.name, waited))
	e.out.put(killedUpdate(t.attempt, reason))
}
