package executorbackend

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// task is one attempt of a task, from its launch to its end.
type task struct {
	engine           *engine
	launch           *wire.Launch
	attempt          uint64
	index            int
	input            []byte
	set              *taskSet
	cpus             int
	leakLabel        leakLabel
	ctx              context.Context
	cancel           context.CancelCauseFunc
	launchReceivedAt time.Time // when the launch was received

	// The engine's lock guards the fields from started to driverRequests.
	started   bool
	startedAt time.Time   // when the attempt got its cores; read without the lock after that
	reaper    *time.Timer // timer that calls abandonKilled if the attempt does not end; set when the attempt is killed
	stuck     bool        // set if the attempt was reported as killed but still runs
	driverRequests

	values     function.Values
	usage      function.Usage
	peakMemory atomic.Uint64
}

// killedError is the cause with which the context of a killed task is cancelled.
type killedError struct{ reason string }

func (e *killedError) Error() string { return "task killed: " + e.reason }

// run runs an attempt in the calling goroutine. The attempt ends with exactly one last update,
// whether its function returns, panics or ends the goroutine. run returns the task that this
// goroutine must run next; nil if there is none.
func (e *engine) run(t *task) (next *task) {
	pprof.SetGoroutineLabels(t.leakLabel.ctx)
	began := t.startedAt
	var update *wire.TaskUpdate
	defer func() {
		returned := update != nil
		if !returned {
			update = e.withLog(failureUpdate(t.attempt, abnormalEnd(recover())))
		}
		took := time.Since(began)
		if e.failedByShutdown(update) {
			next = e.finish(t, took, returned, nil)
			return
		}
		if update.Metrics == nil {
			update.Metrics = &wire.Metrics{}
		}
		t.measure(update.Metrics, took, len(update.GetResult()))
		next = e.finish(t, took, returned, e.storeResult(t, update))
	}()
	result, failure := e.call(t)
	update = e.outcomeUpdate(t, result, failure)
	return nil
}

// failedByShutdown reports whether an attempt failed because this executor is ending. Such a
// failure is not reported to the driver. Whether it counts depends on the reason why the
// executor ends, which the cluster manager reports.
func (e *engine) failedByShutdown(update *wire.TaskUpdate) bool {
	return update.GetState() == wire.TaskState_TASK_STATE_FAILED && e.tasksCtx.Err() != nil
}

// call calls the task's function. A panic of the function is not recovered.
func (e *engine) call(t *task) ([]byte, *wire.Failure) {
	body, err := function.Lookup(t.set.function)
	if err != nil {
		return nil, &wire.Failure{Message: err.Error(), Permanent: true}
	}
	var common []byte
	if t.set.hasShared {
		reader, err := e.blocks.Open(block.Broadcast(t.set.id))
		if err == nil {
			defer reader.Release()
			common, err = reader.Bytes(0, reader.Size())
		}
		if err != nil {
			return nil, &wire.Failure{Message: "the task set's shared value is lost: " + err.Error()}
		}
	}
	result, err := body(t.ctx, function.Call{
		TaskSet:       t.set.name,
		Index:         t.index,
		AttemptNumber: int(t.launch.GetAttemptNumber()),
		CPUs:          t.cpus,
		ExecutorID:    e.options.ID,
		Host:          e.options.Host,
		Shared:        common,
		Input:         t.input,
		Resources:     wire.FromResources(t.launch.GetResources()),
		Hold:          e.holdKey,
		Driver:        t,
		Values:        &t.values,
		Usage:         &t.usage,
	})
	if err != nil {
		return nil, &wire.Failure{Message: err.Error(), Permanent: permanent(err), Uncounted: errors.Is(err, function.ErrCommitDenied)}
	}
	return result, nil
}

// permanent reports whether an error has a method Permanent() bool that returns true.
func permanent(err error) bool {
	var p interface{ Permanent() bool }
	return errors.As(err, &p) && p.Permanent()
}

func (e *engine) outcomeUpdate(t *task, result []byte, failure *wire.Failure) *wire.TaskUpdate {
	switch {
	case failure != nil:
		var cause *killedError
		if errors.As(context.Cause(t.ctx), &cause) {
			return killedUpdate(t.attempt, cause.reason)
		}
		return e.withLog(failureUpdate(t.attempt, failure))
	case int64(len(result)) > e.maxResult:
		return failureUpdate(t.attempt, &wire.Failure{Permanent: true, Message: fmt.Sprintf(
			"the task's result takes %d bytes encoded, the most is %d (%s): return less, write large results to files, or raise %s",
			len(result), e.maxResult, config.Size(e.maxResult), config.TaskMaxResult.Name())})
	}
	return &wire.TaskUpdate{Attempt: t.attempt, State: wire.TaskState_TASK_STATE_FINISHED, Result: result, Values: t.currentValues()}
}

// abnormalEnd returns the failure of a function that did not return. recovered is the value of the
// function's panic; nil if the function ended its goroutine.
func abnormalEnd(recovered any) *wire.Failure {
	if recovered == nil {
		return &wire.Failure{Message: "the function ended its goroutine (runtime.Goexit), as a failed check of package testing does, " +
			"instead of returning"}
	}
	return &wire.Failure{Message: fmt.Sprintf("panic: %v", recovered), Stack: trimStack(string(debug.Stack()))}
}

func failureUpdate(attempt uint64, failure *wire.Failure) *wire.TaskUpdate {
	failure.Message = truncate(failure.GetMessage())
	failure.Stack = truncate(failure.GetStack())
	return &wire.TaskUpdate{Attempt: attempt, State: wire.TaskState_TASK_STATE_FAILED, Failure: failure}
}

// withLog adds the end of this process's log to a failure that counts, if this is an executor
// process.
func (e *engine) withLog(update *wire.TaskUpdate) *wire.TaskUpdate {
	if e.options.replaceable && !update.GetFailure().GetUncounted() {
		update.Failure.Log = logTail(stderrFile)
	}
	return update
}

func killedUpdate(attempt uint64, reason string) *wire.TaskUpdate {
	return &wire.TaskUpdate{Attempt: attempt, State: wire.TaskState_TASK_STATE_KILLED, Failure: &wire.Failure{Message: reason}}
}

// maxTextBytes is the largest size in bytes of a failure's message, and of its stack
// trace. It is small because one message to the driver may contain several failures.
const maxTextBytes = 32 << 10

// truncate cuts a text to maxTextBytes and makes it valid UTF-8, which protobuf requires.
func truncate(text string) string {
	if more := len(text) - maxTextBytes; more > 0 {
		text = fmt.Sprintf("%s… (%d bytes more)", text[:maxTextBytes], more)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// ownPackagePrefix is the prefix of the names of bobbin's functions in a stack trace. Functions
// of users, and of bobbin's examples, have other prefixes; the examples are in package main.
const ownPackagePrefix = "github.com/bobbin-yarn/bobbin"

// trimStack removes frames from a stack trace that debug.Stack returned in a deferred call: the
// frames of bobbin that called the user's function, and the frames of the calls after the panic.
func trimStack(trace string) string {
	lines := strings.Split(strings.TrimRight(trace, "\n"), "\n")
	if len(lines) < 3 {
		return trace
	}
	frames := lines[1:] // two lines for each frame, after "goroutine N [running]:"
	for i := 0; i+1 < len(frames); i += 2 {
		if strings.HasPrefix(frames[i], "panic(") {
			frames = frames[i+2:]
			break
		}
	}
	for len(frames) >= 2 && strings.HasPrefix(frames[0], "runtime.") {
		frames = frames[2:] // frames of a runtime error, such as a nil dereference, that led to the panic
	}
	for len(frames) >= 2 && isOwn(frames[len(frames)-2]) {
		frames = frames[:len(frames)-2]
	}
	if len(frames) == 0 {
		return trace
	}
	return strings.Join(frames, "\n")
}

func isOwn(frame string) bool {
	return strings.HasPrefix(frame, ownPackagePrefix) || strings.HasPrefix(frame, "created by "+ownPackagePrefix)
}
