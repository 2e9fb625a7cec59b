package dataset

import (
	"fmt"
	"iter"
	"unsafe"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// Join returns f of each pair of a left and a right value with the same key. For each key,
// the values of at least one side must fit into memory. If one side is smaller than the
// setting dataset.autoBroadcastJoinThreshold, the driver can decide to broadcast this side,
// as [BroadcastJoin] does, and not to shuffle the other side. This also applies to LeftJoin
// and RightJoin.
func Join[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, V, W) U) *Of[U] {
	return join(left, right, "Join", false, false, func(key K, v *V, w *W) U { return f(key, *v, *w) })
}

// LeftJoin returns what Join returns and, for each left value v whose key is not on the
// right side, f(key, v, nil).
func LeftJoin[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, V, *W) U) *Of[U] {
	return join(left, right, "LeftJoin", true, false, func(key K, v *V, w *W) U { return f(key, *v, w) })
}

// RightJoin returns what Join returns and, for each right value w whose key is not on the
// left side, f(key, nil, w).
func RightJoin[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, *V, W) U) *Of[U] {
	return join(left, right, "RightJoin", false, true, func(key K, v *V, w *W) U { return f(key, v, *w) })
}

// FullJoin returns what Join returns, and what LeftJoin and RightJoin add to it.
func FullJoin[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, *V, *W) U) *Of[U] {
	return join(left, right, "FullJoin", true, true, f)
}

func join[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], operator string, keepLeft, keepRight bool, f func(K, *V, *W) U) *Of[U] {
	n := &node{operator: operator, buffersElements: true}
	c := newCoGrouping(n, left, right)
	for _, side := range []*exchange{c.left.exchange, c.right.exchange} {
		if side != nil {
			n.divisible = append(n.divisible, side)
		}
	}
	joined := newOf(left.plan, n, func(x *taskContext, partition int, emit func(U) bool) {
		leftElsewhere := c.left.keysElsewhere(x, partition, keepRight)
		defer leftElsewhere.close()
		rightElsewhere := c.right.keysElsewhere(x, partition, keepLeft)
		defer rightElsewhere.close()
		j := &joining[K, V, W, U]{coGrouping: c, x: x, f: f, emit: emit}
		c.each(x, partition, func(key []byte, hasLeft, hasRight bool, l, r *sortedGroups) bool {
			switch {
			case hasLeft && hasRight:
				return j.both(key, l, r)
			case hasLeft && keepLeft && !rightElsewhere.has(l.hash, l.key):
				return j.leftOnly(key, l)
			case hasRight && keepRight && !leftElsewhere.has(r.hash, r.key):
				return j.rightOnly(key, r)
			}
			return true
		})
	})
	n.hashed = false // the elements need not be KV values
	return orBroadcast(joined, c, keepLeft, keepRight, f)
}

// joining joins the groups of two data sets in one task. Its methods return false if emit
// returns false or the task fails.
type joining[K, V, W, U any] struct {
	*coGrouping[K, V, W]
	x      *taskContext
	f      func(K, *V, *W) U
	emit   func(U) bool
	lefts  buffered[V]
	rights buffered[W]
}

// leftOnly emits f of each left value of a key that is not on the right side.
func (j *joining[K, V, W, U]) leftOnly(encodedKey []byte, l *sortedGroups) bool {
	key, err := j.left.keys.Decode(encodedKey)
	if err != nil {
		return j.x.fail(err)
	}
	for v := range decoded(j.x, j.left.values, l.values) {
		if !j.emit(j.f(key, &v, nil)) {
			return false
		}
	}
	return true
}

// rightOnly emits f of each right value of a key that is not on the left side.
func (j *joining[K, V, W, U]) rightOnly(encodedKey []byte, r *sortedGroups) bool {
	key, err := j.left.keys.Decode(encodedKey)
	if err != nil {
		return j.x.fail(err)
	}
	for w := range decoded(j.x, j.right.values, r.values) {
		if !j.emit(j.f(key, nil, &w)) {
			return false
		}
	}
	return true
}

// both emits f of all pairs of values of a key that is on both sides. It buffers the right
// values or, if they do not fit into memory, the left values.
func (j *joining[K, V, W, U]) both(encodedKey []byte, l, r *sortedGroups) bool {
	key, err := j.left.keys.Decode(encodedKey)
	if err != nil {
		return j.x.fail(err)
	}
	complete, err := j.rights.fill(j.right.values, r.values, j.x.operatorMemory/2)
	if err != nil {
		return j.x.fail(err)
	}
	if complete {
		for v := range decoded(j.x, j.left.values, l.values) {
			if !j.pairs(key, &v) {
				return false
			}
		}
		return true
	}
	if complete, err = j.lefts.fill(j.left.values, l.values, j.x.operatorMemory/2); err == nil && !complete {
		err = permanentError{fmt.Errorf("key %v has more than %d bytes of values on both sides of a join, "+
			"the memory that a task may use: raise executor.memory", key, j.x.operatorMemory/2)}
	}
	if err != nil {
		return j.x.fail(err)
	}
	for i := range j.lefts.values {
		if !j.pairs(key, &j.lefts.values[i]) {
			return false
		}
	}
	for w := range decoded(j.x, j.right.values, r.values) { // the right values that did not fit
		for i := range j.lefts.values {
			if !j.emit(j.f(key, &j.lefts.values[i], &w)) {
				return false
			}
		}
	}
	return true
}

// pairs emits f of one left value with each buffered right value.
func (j *joining[K, V, W, U]) pairs(key K, v *V) bool {
	for i := range j.rights.values {
		if !j.emit(j.f(key, v, &j.rights.values[i])) {
			return false
		}
	}
	return true
}

// elsewhere is used if a skewed partition of one side of a join is divided: several tasks
// each read a piece of this side, and the whole partition of the other side. A value of the
// other side has a partner if its key is in any of the pieces. elsewhere has the keys of
// the pieces that other tasks read. The zero value is for a side that is not divided.
type elsewhere struct {
	any  bool          // has returns true for all keys: another task emits the values without a partner
	keys *sortedGroups // keys of other tasks' pieces; nil if they are not needed
	more bool          // keys has a current group; false at its end
}

// keysElsewhere returns the keys in the pieces of this side that other tasks read. needed
// is true if the join also emits values of the other side that have no partner. Only the
// task of the first piece emits these values, so only this task reads the keys of the other
// pieces. The caller must close the result.
func (side *keyedInput[K, V]) keysElsewhere(x *taskContext, partition int, needed bool) *elsewhere {
	switch {
	case !needed || side.exchange == nil || side.exchange.id() != x.piece.Shuffle:
		return &elsewhere{}
	case x.piece.Maps.First > 0:
		return &elsewhere{any: true}
	}
	sorter, err := x.sorter()
	if err != nil {
		x.fail(err)
		return &elsewhere{}
	}
	known := shuffle.NewTable[struct{}]() // so that most keys are sorted only once, however often they occur
	defer known.Release()
	others := x.layout.Outputs[side.exchange.id()][x.piece.Maps.End:]
	x.fetchFrom(others, partition, func(key, _ []byte) error {
		hash := record.Hash(key)
		if _, first := known.Upsert(hash, key); !first {
			return nil
		}
		if known.Bytes() > x.operatorMemory {
			known.Reset()
		}
		return sorter.Add(hash, key, nil)
	})
	e := &elsewhere{keys: newSortedGroups(x, sorter)}
	e.more = e.keys.nextGroup()
	return e
}

// has reports whether pieces of other tasks have a key. Successive calls must pass keys in
// the order of sortedGroups.
func (e *elsewhere) has(hash uint64, key []byte) bool {
	for e.more {
		if order := e.keys.compare(hash, key); order >= 0 {
			return order == 0
		}
		e.more = e.keys.nextGroup()
	}
	return e.any
}

func (e *elsewhere) close() {
	if e.keys != nil {
		e.keys.close()
	}
}

// buffered holds values of one key in memory.
type buffered[V any] struct {
	slab   []byte // encoded values
	ends   []int  // ends of the values in slab
	values []V    // decoded; they may share memory with slab
}

// reset removes all values.
func (b *buffered[V]) reset() { b.slab, b.ends, b.values = b.slab[:0], b.ends[:0], b.values[:0] }

// fill replaces b's values by those of the sequence. If they need more than limit bytes,
// fill stops after the first value that exceeds limit. complete reports whether all values
// fit.
func (b *buffered[V]) fill(codec *record.Codec[V], values iter.Seq[[]byte], limit int64) (complete bool, err error) {
	b.reset()
	complete = true
	bytesPerValue := int64(unsafe.Sizeof(*new(V)) + unsafe.Sizeof(0))
	for encoded := range values {
		b.slab = append(b.slab, encoded...)
		b.ends = append(b.ends, len(b.slab))
		if complete = int64(len(b.slab))+int64(len(b.ends))*bytesPerValue <= limit; !complete {
			break
		}
	}
	start := 0
	for _, end := range b.ends {
		value, err := codec.Decode(b.slab[start:end:end])
		if err != nil {
			return complete, err
		}
		b.values = append(b.values, value)
		start = end
	}
	return complete, nil
}
