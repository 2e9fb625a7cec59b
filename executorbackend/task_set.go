package executorbackend

import (
	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// taskSet is a set of which the driver may send tasks. What they share is the
// block broadcast_ID.
type taskSet struct {
	id             uint64
	name, function string
	shares         bool // its tasks share something
}

// keepShared puts what the tasks of new sets share into the store. It may write to
// the disk, so it is called without the lock.
func (e *engine) keepShared(sets []*wire.TaskSet) {
	for _, set := range sets {
		if len(set.GetCommon()) == 0 {
			continue
		}
		if err := e.blocks.Put(block.Broadcast(set.GetId()), set.GetCommon(), block.MemoryAndDisk); err != nil {
			// The driver sends a set once. Its tasks fail where there is no block.
			e.options.Logger.Error("a task set's shared value was not kept", "taskSet", set.GetName(), "error", err)
		}
	}
}

// addSets adds sets. It is called with the lock held.
func (e *engine) addSets(sets []*wire.TaskSet) {
	for _, set := range sets {
		e.sets[set.GetId()] = &taskSet{id: set.GetId(), name: set.GetName(), function: set.GetFunction(), shares: len(set.GetCommon()) > 0}
	}
}

// forgetSets forgets sets that are over. Tasks of them that run go on. It is
// called with the lock held.
func (e *engine) forgetSets(ids []uint64) {
	for _, id := range ids {
		if set := e.sets[id]; set != nil && set.shares {
			e.blocks.Remove(block.Broadcast(id))
		}
		delete(e.sets, id)
		delete(e.gangs, id)
		delete(e.origins.sets, id)
	}
}
