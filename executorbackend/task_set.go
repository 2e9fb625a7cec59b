package executorbackend

import (
	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

// taskSet is a task set that the driver has sent. If hasShared is set, the set has a shared
// input, which is stored as the block block.Broadcast(id).
type taskSet struct {
	id             uint64
	name, function string
	hasShared      bool
}

// storeShared stores the shared inputs of task sets. The caller must not hold the lock, because
// the store may write to the disk.
func (e *engine) storeShared(sets []*wire.TaskSet) {
	for _, set := range sets {
		if len(set.GetCommon()) == 0 {
			continue
		}
		if err := e.blocks.Put(block.Broadcast(set.GetId()), set.GetCommon(), block.MemoryAndDisk); err != nil {
			// The driver does not send the set again. Without the block, the set's tasks fail on
			// this executor.
			e.options.Logger.Error("a task set's shared value was not kept", "taskSet", set.GetName(), "error", err)
		}
	}
}

func (e *engine) addSets(sets []*wire.TaskSet) {
	for _, set := range sets {
		e.sets[set.GetId()] = &taskSet{id: set.GetId(), name: set.GetName(), function: set.GetFunction(), hasShared: len(set.GetCommon()) > 0}
	}
}

// forgetSets removes task sets that have ended. Tasks that are still running continue.
func (e *engine) forgetSets(ids []uint64) {
	for _, id := range ids {
		if set := e.sets[id]; set != nil && set.hasShared {
			e.blocks.Remove(block.Broadcast(id))
		}
		delete(e.sets, id)
		delete(e.peers, id)
		delete(e.labels.sets, id)
	}
}
