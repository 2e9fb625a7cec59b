package dataset

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// Join returns f of each pair of a left and a right value with the same key. For each key,
// the values on at least one of the sides must fit into memory. If one side is smaller than
// the setting dataset.autoBroadcastJoinThreshold, the driver can decide to broadcast it as
// [BroadcastJoin] does, so that the other side is not shuffled. This also applies to
// LeftJoin and RightJoin.
func Join[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, V, W) U) *Of[U] {
	return join(left, right, "Join", false, false, func(key K, v *V, w *W) U { return f(key, *v, *w) })
}

// LeftJoin returns what Join returns and, for each value on the left side whose key is not
// on the right side, f of this value and nil.
func LeftJoin[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, V, *W) U) *Of[U] {
	return join(left, right, "LeftJoin", true, false, func(key K, v *V, w *W) U { return f(key, *v, w) })
}

// RightJoin returns what Join returns and, for each value on the right side whose key is
// not on the left side, f of nil and this value.
func RightJoin[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, *V, W) U) *Of[U] {
	return join(left, right, "RightJoin", false, true, func(key K, v *V, w *W) U { return f(key, v, *w) })
}

// FullJoin returns what Join returns, what LeftJoin adds to that, and what RightJoin adds.
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

// leftOnly emits the left values of a key that the right side does not have.
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

// rightOnly emits the right values of a key that the left side does not have.
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

// both emits f of all pairs of values of a key that both sides have. It keeps the right
// values in memory or, if they do not fit, the left ones.
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

// pairs emits f of the pairs of one left value and each right value in memory.
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
// other side has a partner if its key is in at least one piece, so elsewhere has the keys
// of the pieces that other tasks read. The zero value is for a side that is not divided.
type elsewhere struct {
	any  bool          // has returns true for all keys: another task emits such values
	keys *sortedGroups // keys of other tasks' pieces; nil if they are not needed
	more bool          // keys is at a group; false at its end
}

// keysElsewhere returns which keys are in the pieces of this side that other tasks read.
// needed is true if the join also emits values of the other side that have no partner. The
// task of the first piece emits them, so it reads the keys of the other pieces. In other
// tasks, the result has no keys. The caller must close the result.
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
	known := shuffle.NewTable[struct{}]() // to sort most keys only once, however often they occur
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
