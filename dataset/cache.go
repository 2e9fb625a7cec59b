package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/record"
)

// Level says where the partitions of a cached data set are stored.
type Level int

// Levels of caching. A partition that is dropped or lost is computed again when it
// is needed.
const (
	// MemoryThenDisk stores partitions in executors' memory, and on their disks if
	// memory is full.
	MemoryThenDisk = Level(block.MemoryAndDisk)
	// Memory stores partitions in executors' memory. If memory is full, the least recently
	// used partitions are dropped.
	Memory = Level(block.MemoryOnly)
	// Disk stores partitions on executors' disks.
	Disk = Level(block.DiskOnly)

	// MemoryThenDisk2, Memory2 and Disk2 store each partition on two executors, on
	// different hosts if possible. If one executor is lost, its partitions need not be
	// computed again. An action returns when each partition has two copies. If there is
	// only one executor, the second copies are made when another executor registers.
	MemoryThenDisk2 = MemoryThenDisk | replicated
	Memory2         = Memory | replicated
	Disk2           = Disk | replicated

	replicated Level = 1 << 8
)

// blockLevel returns the level at which an executor's block store stores partitions.
func (l Level) blockLevel() block.Level { return block.Level(l &^ replicated) }

// cachedBlock identifies a partition of a cached data set, which is stored as a block.
type cachedBlock struct {
	_         struct{} `cbor:",toarray"`
	Node      ref
	Partition int
}

func (b cachedBlock) id() block.ID {
	return block.Cached(b.Node.Plan, b.Node.Node, b.Partition)
}

// cacheKey returns the argument of bobbin.Task.Hold for the cached partitions of a data
// set.
func cacheKey(r ref) string { return fmt.Sprintf("rdd_%d_%d", r.Plan, r.Node) }

// cached reports whether Cache was called for the data set of a node, and returns its
// level.
func (x *taskContext) cached(n *node) (Level, bool) {
	level, cached := x.layout.Cached[n.ref()]
	return level, cached
}

// fromCache emits the elements of a partition of a cached data set. If no executor
// stores the partition, fromCache computes and stores it.
func fromCache[T any](x *taskContext, n *node, level Level, values *record.Codec[T], partition int, compute computeFunc[T], emit func(T) bool) {
	id := cachedBlock{Node: n.ref(), Partition: partition}
	encoded, release, ok := x.readCached(id)
	if !ok {
		if x.err == nil {
			computeAndStore(x, id, level, values, compute, emit)
		}
		return
	}
	defer release()
	for element, err := range elementsOf(encoded) {
		var value T
		if err == nil {
			value, err = values.Decode(element)
		}
		if err != nil {
			x.fail(fmt.Errorf("cached block %s: %w", id.id(), err))
			return
		}
		if !emit(value) {
			return
		}
	}
}

// readCached reads a cached partition from this executor or another one, and returns its
// encoded elements. If ok is true, the caller must call release. If ok is false, no
// executor stores the partition, or the task has failed.
func (x *taskContext) readCached(id cachedBlock) (encoded []byte, release func(), ok bool) {
	reader, err := x.service.Store().Open(id.id())
	if err == nil {
		if encoded, err = reader.Bytes(0, reader.Size()); err == nil {
			return encoded, reader.Release, true
		}
		reader.Release()
	}
	if !errors.Is(err, block.ErrNotFound) {
		x.service.Store().Remove(id.id()) // the block is damaged
	}
	for _, address := range x.locations[id] {
		encoded, err := x.service.FetchBlock(x.task, address, id.id())
		if err == nil {
			return encoded, func() {}, true
		}
		if x.task.Err() != nil {
			return nil, nil, x.fail(err)
		}
	}
	return nil, nil, false
}

// computeAndStore computes a partition, emits its elements and stores them as a block. If
// emit returns false before the last element, nothing is stored.
func computeAndStore[T any](x *taskContext, id cachedBlock, level Level, values *record.Codec[T], compute computeFunc[T], emit func(T) bool) {
	var elements, element []byte
	complete := true
	compute(x, id.Partition, func(value T) bool {
		var err error
		if element, err = values.Append(element[:0], value); err != nil {
			complete = false
			return x.fail(err)
		}
		elements = append(binary.AppendUvarint(elements, uint64(len(element))), element...)
		complete = emit(value)
		return complete
	})
	if !complete || x.err != nil {
		return
	}
	// If Put fails, it has logged the error, and the partition is computed again when
	// needed.
	if x.service.Store().Put(id.id(), elements, level.blockLevel()) == nil {
		x.task.Hold(cacheKey(id.Node))
		x.cachedBlocks = append(x.cachedBlocks, id)
	}
}
