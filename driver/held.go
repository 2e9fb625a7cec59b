package driver

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// maxShownHeldKeys is how many keys of held data the status shows for each executor.
const maxShownHeldKeys = 20

// heldKeys are the keys of the data that tasks hold on an executor (Task.Hold). Dynamic
// allocation removes an executor with held data later than other executors, or never.
type heldKeys struct {
	keys      map[string]struct{}
	releasing map[string]struct{} // released, and not yet acknowledged by the executor
}

func (h *heldKeys) add(keys []string) {
	if h.keys == nil {
		h.keys = map[string]struct{}{}
	}
	for _, key := range keys {
		h.keys[key] = struct{}{}
	}
}

// release removes a key, and reports whether the executor held data under it.
func (h *heldKeys) release(key string) bool {
	if _, held := h.keys[key]; !held {
		return false
	}
	delete(h.keys, key)
	if h.releasing == nil {
		h.releasing = map[string]struct{}{}
	}
	h.releasing[key] = struct{}{}
	return true
}

// shown returns the first keys in alphabetical order, at most maxShownHeldKeys.
func (h *heldKeys) shown() []string {
	keys := slices.Sorted(maps.Keys(h.keys))
	return keys[:min(len(keys), maxShownHeldKeys)]
}

// Release reports that the data that executors hold under a key (Task.Hold) is not needed
// any more. An idle executor that holds nothing else may then be removed. Release does not
// affect data that tasks hold under the same key later.
func (d *Driver) Release(key string) {
	key = wire.HoldKey(key)
	d.do(func(l *loop) {
		for _, e := range l.executors {
			l.release(e, key)
		}
		for _, loss := range l.losses {
			loss.executor.held.release(key) // the executor may register again
		}
	})
}

// Discard tells all executors to remove the data that they store under a key without
// holding it. Unlike held data, such data never keeps an executor from being removed. An
// executor that is not connected is not told.
func (d *Driver) Discard(key string) {
	key = wire.HoldKey(key)
	d.do(func(l *loop) {
		for _, e := range l.executors {
			l.send.release(e, key)
		}
	})
}

func (l *loop) release(e *executor, key string) {
	if e.held.release(key) {
		l.send.release(e, key)
		e.updateHolding()
	}
}

// receiveHolds records which data an executor reports to hold or to have released.
func (l *loop) receiveHolds(e *executor, message *wire.ExecutorMessage) {
	for _, key := range message.GetReleased() {
		delete(e.held.releasing, key)
	}
	if keys := message.GetHolds(); len(keys) > 0 {
		e.held.add(keys)
		e.updateHolding()
	}
}

// updateHolding tells dynamic allocation whether the executor holds data.
func (e *executor) updateHolding() {
	if e.allocationEntry != nil {
		e.allocationEntry.Hold(len(e.held.keys) > 0)
	}
}
