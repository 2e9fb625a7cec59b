package executorbackend

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// storeResult stores a result that is too large for its attempt's last update, until the driver
// fetches the result. It returns an update with the result's size, to be sent instead.
func (e *engine) storeResult(t *task, update *wire.TaskUpdate) *wire.TaskUpdate {
	maxDirect := e.maxDirectResult
	if t.launch.GetStoreResult() {
		maxDirect = 0
	}
	result := update.GetResult()
	if len(result) <= maxDirect || update.GetState() != wire.TaskState_TASK_STATE_FINISHED {
		return update
	}
	if err := e.blocks.Put(block.TaskResult(t.attempt), result, block.MemoryAndDisk); err != nil {
		return lostResultUpdate(t.attempt, err)
	}
	update.State, update.StoredBytes, update.Result = wire.TaskState_TASK_STATE_STORED, uint64(len(result)), nil
	return update
}

// lostResultUpdate returns the last update of an attempt whose result cannot be stored, or
// cannot be read after it was stored. It makes the driver retry the task without counting a
// failure.
func lostResultUpdate(attempt uint64, err error) *wire.TaskUpdate {
	return failureUpdate(attempt, &wire.Failure{Message: "the task's result is lost: " + err.Error(), Uncounted: true})
}

// lastUpdate returns the update that reports the end of an attempt; nil if the attempt was
// already reported as killed. If the attempt was killed after its result was stored, lastUpdate
// removes the result. The caller holds the lock.
func (e *engine) lastUpdate(t *task, update *wire.TaskUpdate) *wire.TaskUpdate {
	if update.GetState() == wire.TaskState_TASK_STATE_STORED {
		var cause *killedError
		if errors.As(context.Cause(t.ctx), &cause) {
			e.blocks.Remove(block.TaskResult(t.attempt))
			update = killedUpdate(t.attempt, cause.reason)
		}
	}
	if t.stuck {
		return nil // abandonKilled has reported the attempt as killed
	}
	return update
}

// fetch sends one stored result to the driver in parts. Both the end of the fetch and a kill of
// the attempt remove the stored block. Only the first of the two removals succeeds. The code
// whose removal succeeds sends the attempt's last update.
type fetch struct {
	attempt uint64
	sent    int64 // bytes sent so far
	ended   bool
}

// next returns an update with the next part of the result; nil if the attempt was killed.
func (f *fetch) next(blocks *block.Store) *wire.TaskUpdate {
	id := block.TaskResult(f.attempt)
	content, last, err := f.read(blocks, id)
	if err == nil && !last {
		return &wire.TaskUpdate{Attempt: f.attempt, State: wire.TaskState_TASK_STATE_PART, Result: content}
	}
	f.ended = true
	switch {
	case !blocks.Remove(id):
		return nil
	case err != nil:
		return lostResultUpdate(f.attempt, err)
	}
	return &wire.TaskUpdate{Attempt: f.attempt, State: wire.TaskState_TASK_STATE_FINISHED, Result: content}
}

// read reads the next part of the result, and reports whether it is the last.
func (f *fetch) read(blocks *block.Store, id block.ID) (content []byte, last bool, err error) {
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
