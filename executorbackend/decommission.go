package executorbackend

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// diskInterval is the time between two tests whether the executor can write to its disk.
const diskInterval = time.Minute

// decommission requests that the driver decommissions this executor. When the driver later stops
// the executor, Serve returns an ExitError with the code and the reason. Only the first call has
// an effect.
func (e *engine) decommission(code int, reason string) {
	reason = strings.ToValidUTF8(reason, "\uFFFD")
	e.mu.Lock()
	first := e.decommissioning == nil
	if first {
		e.decommissioning = &ExitError{Code: code, Err: fmt.Errorf("executor %s left: %s", e.options.ID, reason)}
	}
	e.mu.Unlock()
	if first {
		e.options.Logger.Warn("no further tasks: this executor will leave", "executor", e.options.ID, "reason", reason)
		e.out.requestDecommission(reason)
	}
}

// logDecommission logs the driver's notice that this executor is being decommissioned.
func (e *engine) logDecommission(notice *wire.Decommission) {
	e.mu.Lock()
	tasks := len(e.tasks)
	e.mu.Unlock()
	attributes := []any{"executor", e.options.ID, "reason", notice.GetReason(), "tasks", tasks}
	if millis := notice.GetDeadlineMillis(); millis != 0 {
		attributes = append(attributes, "deadline", time.UnixMilli(millis))
	}
	e.options.Logger.Info("no further tasks: this executor will be taken away", attributes...)
}

// watchSignals decommissions the executor when Options.Decommission delivers a reason.
func (e *engine) watchSignals(quit <-chan struct{}) {
	select {
	case reason, ok := <-e.options.Decommission:
		if ok {
			e.decommission(ExitDecommissioned, reason)
		}
	case <-quit:
	}
}

// watchDisk tests the disk at intervals, and decommissions the executor if the disk cannot be
// written. A full disk does not count.
func (e *engine) watchDisk(quit <-chan struct{}) {
	ticker := time.NewTicker(diskInterval)
	defer ticker.Stop()
	for {
		select {
		case <-quit:
			return
		case <-ticker.C:
		}
		// Test in another goroutine, because writing to a broken disk may block for ever.
		tested := make(chan error, 1)
		e.running.Go(func() { tested <- testDisk(e.options.directory) })
		select {
		case err := <-tested:
			if err != nil {
				e.decommission(ExitLostDisk, "it cannot write to its working directory: "+err.Error())
				return
			}
		case <-quit:
			return
		}
	}
}

// testDisk returns an error if it cannot write and remove a file in the directory. If the disk
// is full, it returns nil, because space may become free again.
func testDisk(directory string) error {
	file, err := os.CreateTemp(directory, ".bobbin-disk-test-")
	if err == nil {
		_, err = file.WriteString("bobbin disk test\n")
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil
	}
	return err
}

// abandonKilled is called if a killed task does not end in time. It logs the task. If another
// executor can replace this one, it also reports the task as killed and requests that the driver
// decommissions this executor, because the task still occupies its cores.
func (e *engine) abandonKilled(t *task, reason string) {
	e.mu.Lock()
	if e.tasks[t.attempt] != t || e.ended {
		e.mu.Unlock()
		return
	}
	e.running.Add(1)
	defer e.running.Done()
	if e.options.replaceable {
		t.stuck = true
		delete(e.tasks, t.attempt)
		e.stuckTasks[t] = struct{}{}
	}
	e.mu.Unlock()

	waited := e.killTimeout.Round(time.Millisecond)
	e.options.Logger.Error("a task does not end though it was killed: its function ignores the end of its context",
		"taskSet", t.set.name, "task", t.index, "killed", reason, "waited", waited)
	if !e.options.replaceable {
		return
	}
	e.decommission(ExitStuckTask, fmt.Sprintf("task %d of %q did not end within %v though it was killed", t.index, t.set.name, waited))
	e.out.put(killedUpdate(t.attempt, reason))
}
