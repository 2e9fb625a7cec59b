package executorbackend

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// task is one attempt at this executor.
type task struct {
	engine  *engine
	launch  *wire.Launch // that it came with
	attempt uint64
	index   int
	input   []byte
	set     *taskSet
	cpus    int
	started bool // guarded by the engine's lock
	origin  origin
	ctx     context.Context
	cancel  context.CancelCauseFunc

	// Guarded by the engine's lock, too.
	reaper  *time.Timer // once it was killed
	givenUp bool        // it was told to be killed and has not ended
	coordination

	values function.Values

	received time.Time // the launch
	began    time.Time // guarded by the engine's lock until it has started
	usage    function.Usage
	peak     peak
}

// killedError is the cause of the end of a killed task's context.
type killedError struct{ reason string }

func (e *killedError) Error() string { return "task killed: " + e.reason }

// run runs an attempt. Whatever the function does, return, panic or end its
// goroutine, there is one last update.
//
// It returns the task that is to follow in the same goroutine, if any.
func (e *engine) run(t *task) (next *task) {
	pprof.SetGoroutineLabels(t.origin.ctx)
	began := t.began
	var update *wire.TaskUpdate
	defer func() {
		goesOn := update != nil
		if !goesOn {
			update = failed(t.attempt, abnormalEnd(recover()))
		}
		took := time.Since(began)
		if e.cutShort(update) {
			next = e.finished(t, took, goesOn, nil)
			return
		}
		if update.Metrics == nil {
			update.Metrics = &wire.Metrics{}
		}
		t.measure(update.Metrics, took, len(update.GetResult()))
		next = e.finished(t, took, goesOn, e.keep(t, update))
	}()
	result, failure := e.call(t)
	update = e.outcome(t, result, failure)
	return nil
}

// cutShort reports whether an attempt failed because this executor ends. That
// is not told: why the executor ended decides whether the task failed, and the
// cluster manager knows it better.
func (e *engine) cutShort(update *wire.TaskUpdate) bool {
	return update.GetState() == wire.TaskState_TASK_STATE_FAILED && e.tasksCtx.Err() != nil
}

// call runs the function and says what went wrong; it panics when that does.
func (e *engine) call(t *task) ([]byte, *wire.Failure) {
	body, err := function.Lookup(t.set.function)
	if err != nil {
		return nil, &wire.Failure{Message: err.Error(), Permanent: true}
	}
	var common []byte
	if t.set.shares {
		reader, err := e.blocks.Open(block.Broadcast(t.set.id))
		if err == nil {
			defer reader.Release()
			common, err = reader.Bytes(0, reader.Size())
		}
		if err != nil {
			return nil, &wire.Failure{Message: "what the tasks of the set share is lost: " + err.Error()}
		}
	}
	result, err := body(t.ctx, function.Call{
		TaskSet:       t.set.name,
		Index:         t.index,
		AttemptNumber: int(t.launch.GetAttemptNumber()),
		CPUs:          t.cpus,
		ExecutorID:    e.options.ID,
		Host:          e.options.Host,
		Common:        common,
		Input:         t.input,
		Resources:     wire.FromResources(t.launch.GetResources()),
		Hold:          e.hold,
		Driver:        t,
		Values:        &t.values,
		Usage:         &t.usage,
	})
	if err != nil {
		return nil, &wire.Failure{Message: err.Error(), Permanent: permanent(err), Uncounted: errors.Is(err, function.ErrCommitDenied)}
	}
	return result, nil
}

// permanent reports whether an error says of itself that another try cannot
// help, by a method Permanent() bool.
func permanent(err error) bool {
	var says interface{ Permanent() bool }
	return errors.As(err, &says) && says.Permanent()
}

func (e *engine) outcome(t *task, result []byte, failure *wire.Failure) *wire.TaskUpdate {
	switch {
	case failure != nil:
		var killed *killedError
		if errors.As(context.Cause(t.ctx), &killed) {
			return killedUpdate(t.attempt, killed.reason)
		}
		return failed(t.attempt, failure)
	case int64(len(result)) > e.maxResult:
		return failed(t.attempt, &wire.Failure{Permanent: true, Message: fmt.Sprintf(
			"the task's result takes %d bytes encoded, the most is %d (%s): return less, write large results to files, or raise %s",
			len(result), e.maxResult, config.Size(e.maxResult), config.TaskMaxResult.Name())})
	}
	return &wire.TaskUpdate{Attempt: t.attempt, State: wire.TaskState_TASK_STATE_FINISHED, Result: result, Values: t.told()}
}

// abnormalEnd describes the end of a function that did not return: recovered
// is what it panicked with, nil where it ended its goroutine.
func abnormalEnd(recovered any) *wire.Failure {
	if recovered == nil {
		return &wire.Failure{Message: "the function ended its goroutine (runtime.Goexit), as a failed check of package testing does, " +
			"instead of returning"}
	}
	return &wire.Failure{Message: fmt.Sprintf("panic: %v", recovered), Stack: trimStack(string(debug.Stack()))}
}

func failed(attempt uint64, failure *wire.Failure) *wire.TaskUpdate {
	failure.Message = cut(failure.GetMessage())
	failure.Stack = cut(failure.GetStack())
	return &wire.TaskUpdate{Attempt: attempt, State: wire.TaskState_TASK_STATE_FAILED, Failure: failure}
}

// maxText bounds a failure's message and its stack in bytes: a message of the
// stream holds several.
const maxText = 32 << 10

// cut makes a text of the user's one that a message can hold: not too long, and
// UTF-8, whatever bytes it has.
func cut(text string) string {
	if more := len(text) - maxText; more > 0 {
		text = fmt.Sprintf("%s… (%d bytes more)", text[:maxText], more)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
