package driver

import (
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// maxShownHeldKeys is the largest number of keys of held data that the status shows per
// executor.
const maxShownHeldKeys = 20

// heldKeys are the keys under which tasks have declared with Task.Hold that their executor
// stores data. Dynamic allocation removes an executor with such keys later than others, or
// never.
type heldKeys struct {
	keys      map[string]struct{}
	releasing map[string]struct{} // keys that were released and whose release the executor has not acknowledged
}

func (h *heldKeys) add(keys []string) {
	if h.keys == nil {
		h.keys = map[string]struct{}{}
	}
	for _, key := range keys {
		h.keys[key] = struct{}{}
	}
}

// release removes a key, and reports whether the executor had declared it.
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

// Release reports that the data under a key (Task.Hold) is not needed any more. Executors remove
// the data. An idle executor without other keys may then be removed. Release does not affect
// data that tasks declare under the same key later.
func (d *Driver) Release(key string) {
	key = wire.HoldKey(key)
	d.do(func(l *loop) {
		for _, e := range l.executors {
			l.release(e, key)
		}
		for _, loss := range l.losses {
			loss.executor.held.release(key) // in case the executor registers again
		}
	})
}

// Discard makes all connected executors remove the data that they store under a key without
// Task.Hold. Unlike held data, such data does not prevent the removal of an idle executor.
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

// receiveHolds records the keys that an executor reports as held or as released.
func (l *loop) receiveHolds(e *executor, message *wire.ExecutorMessage) {
	for _, key := range message.GetReleased() {
		delete(e.held.releasing, key)
	}
	if keys := message.GetHolds(); len(keys) > 0 {
		e.held.add(keys)
		e.updateHolding()
	}
}

// updateHolding tells dynamic allocation whether the executor holds data, which keeps it longer
// when it is idle.
func (e *executor) updateHolding() {
	if e.allocationEntry != nil {
		e.allocationEntry.Hold(len(e.held.keys) > 0)
	}
}
