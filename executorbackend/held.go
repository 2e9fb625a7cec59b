package executorbackend

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// keep puts a result that is too large for its task's last update into the store.
// It returns the update, which then only reports the result's size.
func (e *engine) keep(t *task, update *wire.TaskUpdate) *wire.TaskUpdate {
	most := e.maxDirect
	if t.launch.GetStoreResult() {
		most = 0
	}
	result := update.GetResult()
	if len(result) <= most || update.GetState() != wire.TaskState_TASK_STATE_FINISHED {
		return update
	}
	if err := e.blocks.Put(block.TaskResult(t.attempt), result, block.MemoryAndDisk); err != nil {
		return lost(t.attempt, err)
	}
	update.State, update.StoredBytes, update.Result = wire.TaskState_TASK_STATE_STORED, uint64(len(result)), nil
	return update
}

// lost is the last update of an attempt whose result cannot be sent. The task
// runs again: it is not to blame.
func lost(attempt uint64, err error) *wire.TaskUpdate {
	return failed(attempt, &wire.Failure{Message: "the task's result is lost: " + err.Error(), Uncounted: true})
}

// last returns the update with which an attempt ends. A result that was kept is
// dropped where the attempt was killed in the meantime. It is called with the lock
// held.
func (e *engine) last(t *task, update *wire.TaskUpdate) *wire.TaskUpdate {
	if update.GetState() == wire.TaskState_TASK_STATE_STORED {
		var killed *killedError
		if errors.As(context.Cause(t.ctx), &killed) {
			e.blocks.Remove(block.TaskResult(t.attempt))
			update = killedUpdate(t.attempt, killed.reason)
		}
	}
	if t.givenUp {
		return nil // it was reported as killed
	}
	return update
}

// killRan drops the result of an attempt that ran, and returns the attempt's last
// update; nil where the driver has all of it, or got another last update.
func (e *engine) killRan(kill *wire.KillTask) *wire.TaskUpdate {
	if !e.blocks.Remove(block.TaskResult(kill.GetAttempt())) {
		return nil
	}
	return killedUpdate(kill.GetAttempt(), kill.GetReason())
}

func killedUpdate(attempt uint64, reason string) *wire.TaskUpdate {
	return &wire.TaskUpdate{Attempt: attempt, State: wire.TaskState_TASK_STATE_KILLED, Failure: &wire.Failure{Message: reason}}
}

// fetch is a result on its way to the driver. Whoever removes its block ends
// it, and sends the attempt's last update.
type fetch struct {
	attempt uint64
	sent    int64 // bytes
	ended   bool
}

// next reads the next piece, and returns the update that carries it; nil where
// the attempt was killed.
func (f *fetch) next(blocks *block.Store) *wire.TaskUpdate {
	id := block.TaskResult(f.attempt)
	content, whole, err := f.read(blocks, id)
	if err == nil && !whole {
		return &wire.TaskUpdate{Attempt: f.attempt, State: wire.TaskState_TASK_STATE_PART, Result: content}
	}
	f.ended = true
	switch {
	case !blocks.Remove(id):
		return nil
	case err != nil:
		return lost(f.attempt, err)
	}
	return &wire.TaskUpdate{Attempt: f.attempt, State: wire.TaskState_TASK_STATE_FINISHED, Result: content}
}

// read reads the next piece, and reports whether it is the last one.
func (f *fetch) read(blocks *block.Store, id block.ID) (content []byte, whole bool, err error) {
	reader, err := blocks.Open(id)
	if err != nil {
		return nil, false, err
	}
	defer reader.Release()
	from := f.sent
	f.sent = min(from+wire.MaxPart, reader.Size())
	content, err = reader.Bytes(from, f.sent)
	return content, f.sent == reader.Size(), err
}
