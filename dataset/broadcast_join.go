package dataset

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// BroadcastJoin returns what [Join] returns, but does not shuffle the large data set.
// Instead, each executor stores the whole small data set in memory.
func BroadcastJoin[K, V, W, U any](large *Of[KV[K, V]], small *Of[KV[K, W]], f func(K, V, W) U) *Of[U] {
	return broadcastJoin(large, small, "BroadcastJoin", func(key K, v V, found []W, emit func(U) bool) bool {
		for _, w := range found {
			if !emit(f(key, v, w)) {
				return false
			}
		}
		return true
	})
}

// LeftBroadcastJoin returns what BroadcastJoin returns and, for each large-side value v
// whose key is not on the small side, f(key, v, nil).
func LeftBroadcastJoin[K, V, W, U any](large *Of[KV[K, V]], small *Of[KV[K, W]], f func(K, V, *W) U) *Of[U] {
	return broadcastJoin(large, small, "LeftBroadcastJoin", func(key K, v V, found []W, emit func(U) bool) bool {
		for _, w := range found {
			if !emit(f(key, v, &w)) {
				return false
			}
		}
		return len(found) > 0 || emit(f(key, v, nil))
	})
}

// broadcastJoin adds an operator that calls match for each element of the large side, with
// the small side's values for the same key. The small side is shuffled into one partition,
// which each process reads once for all of its tasks.
func broadcastJoin[K, V, W, U any](large *Of[KV[K, V]], small *Of[KV[K, W]], operator string,
	match func(key K, v V, found []W, emit func(U) bool) bool) *Of[U] {
	pairs := kvCodecOf[K, W](large.plan, operator)
	whole := exchanged(small, operator, 1)
	whole.node.shared, whole.node.buffersElements = true, true
	tables := newJoinTables(whole, pairs, func(x *taskContext, bytes int64) error {
		if bytes <= x.operatorMemory {
			return nil
		}
		return permanentError{fmt.Errorf("the small side of %s has more than %d bytes, the memory that a task may use: "+
			"use Join, or raise executor.memory", operator, x.operatorMemory)}
	})
	n := broadcastNode(operator, large.node, whole.node)
	return newOf(large.plan, n, func(x *taskContext, partition int, emit func(U) bool) {
		table, ok := tables.acquire(x)
		if !ok {
			return
		}
		defer tables.release()
		var buffer []byte
		large.compute(x, partition, func(element KV[K, V]) bool {
			key, err := pairs.key(&buffer, element.Key)
			if err != nil {
				return x.fail(err)
			}
			return match(element.Key, element.Value, table.find(key), emit)
		})
	})
}

// newJoinTables returns a sharedTable that is built from whole, whose only partition has
// all records of the small side. While the table is built, check is called with the number
// of encoded bytes so far, and returns an error if there are too many.
func newJoinTables[K, W any](whole *Of[KV[K, W]], pairs kvCodec[K, W], check func(x *taskContext, bytes int64) error) *sharedTable[*joinTable[W]] {
	return newSharedTable(func(x *taskContext) *joinTable[W] {
		table := newJoinTable[W]()
		var bytes int64
		var buffer []byte
		whole.compute(x, 0, func(element KV[K, W]) bool {
			key, err := pairs.key(&buffer, element.Key)
			if err != nil {
				return x.fail(err)
			}
			encoded, err := pairs.values.Append(nil, element.Value)
			if err != nil {
				return x.fail(err)
			}
			bytes += int64(len(key) + len(encoded))
			if err := check(x, bytes); err != nil {
				return x.fail(err)
			}
			value, err := pairs.values.Decode(encoded) // element's bytes are valid only in this call
			table.add(key, value)
			return err == nil || x.fail(err)
		})
		table.finish()
		return table
	})
}

// broadcastNode returns a node with as many partitions as the large side. Each partition is
// computed from the same partition of large and from the only partition of whole, the small
// side.
func broadcastNode(operator string, large, whole *node) *node {
	return &node{operator: operator, inputs: []*node{large, whole}, elementwise: true, partitions: large.partitions,
		parentPartitions: func(_ *layout, partition int, visit func(*node, int)) {
			visit(large, partition)
			visit(whole, 0)
		}}
}

// maxTableIdle is how long a process caches a table after its last use.
const maxTableIdle = 30 * time.Second

// sharedTable is a table that the tasks of a process share. The first task builds it.
type sharedTable[T any] struct {
	build    func(x *taskContext) T
	building chan struct{} // mutex as a channel: has an element while a task is in acquire

	mu       sync.Mutex
	table    T
	built    bool // table is set
	numUsers int
	expiry   *time.Timer // removes the table after maxTableIdle; nil while it has users
}

func newSharedTable[T any](build func(x *taskContext) T) *sharedTable[T] {
	return &sharedTable[T]{build: build, building: make(chan struct{}, 1)}
}

// acquire returns the table, and builds it first if necessary. If building fails, acquire
// fails the task and returns false. Otherwise the caller must call release.
func (b *sharedTable[T]) acquire(x *taskContext) (table T, ok bool) {
	select {
	case b.building <- struct{}{}:
		defer func() { <-b.building }()
	case <-x.task.Done():
		return table, x.fail(context.Cause(x.task))
	}
	if table, ok := b.use(); ok {
		return table, true
	}
	if table = b.build(x); x.err != nil {
		return table, false
	}
	b.mu.Lock()
	b.table, b.built = table, true
	b.mu.Unlock()
	return b.use()
}

// use registers a user of the table, who must call release. ok is false if the table is not
// built.
func (b *sharedTable[T]) use() (table T, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.built {
		return table, false
	}
	b.numUsers++
	if b.expiry != nil {
		b.expiry.Stop()
		b.expiry = nil
	}
	return b.table, true
}

// release unregisters a user of the table.
func (b *sharedTable[T]) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.numUsers--; b.numUsers > 0 {
		return
	}
	b.expiry = time.AfterFunc(maxTableIdle, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.numUsers == 0 {
			var none T
			b.table, b.built = none, false
		}
	})
}
