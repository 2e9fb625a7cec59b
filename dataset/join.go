package dataset

import (
	"fmt"
	"iter"
	"unsafe"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// Both are the values of a key in two data sets. Each can be read once.
type Both[V, W any] struct {
	Left  iter.Seq[V]
	Right iter.Seq[W]
}

// CoGroup returns each key that is in either data set, with its values in both.
func CoGroup[K, V, W any](left *Of[KV[K, V]], right *Of[KV[K, W]]) *Of[KV[K, Both[V, W]]] {
	n := &node{operator: "CoGroup", buffersElements: true}
	c := newCoGrouping(n, left, right)
	return newOf(left.plan, n, func(x *taskContext, partition int, emit func(KV[K, Both[V, W]]) bool) {
		c.each(x, partition, func(key []byte, hasLeft, hasRight bool, l, r *sortedGroups) bool {
			decodedKey, err := c.left.keys.Decode(key)
			if err != nil {
				return x.fail(err)
			}
			both := Both[V, W]{Left: func(func(V) bool) {}, Right: func(func(W) bool) {}}
			if hasLeft {
				both.Left = decoded(x, c.left.values, l.values)
			}
			if hasRight {
				both.Right = decoded(x, c.right.values, r.values)
			}
			return emit(KV[K, Both[V, W]]{decodedKey, both})
		})
	})
}

// Join returns f of each pair of values with the same key. The values of one key must
// fit into memory on one of the sides.
func Join[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, V, W) U) *Of[U] {
	return join(left, right, "Join", false, false, func(key K, v *V, w *W) U { return f(key, *v, *w) })
}

// LeftJoin returns what Join returns, and f of each value on the left side whose key
// is not on the right side, with a nil right value.
func LeftJoin[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, V, *W) U) *Of[U] {
	return join(left, right, "LeftJoin", true, false, func(key K, v *V, w *W) U { return f(key, *v, w) })
}

// RightJoin returns what Join returns, and f of each value on the right side whose
// key is not on the left side, with a nil left value.
func RightJoin[K, V, W, U any](left *Of[KV[K, V]], right *Of[KV[K, W]], f func(K, *V, W) U) *Of[U] {
	return join(left, right, "RightJoin", false, true, func(key K, v *V, w *W) U { return f(key, v, *w) })
}

// FullJoin returns what LeftJoin and RightJoin return together.
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
		var lefts buffered[V]
		var rights buffered[W]
		leftElsewhere := c.left.keysElsewhere(x, partition, keepRight)
		defer leftElsewhere.close()
		rightElsewhere := c.right.keysElsewhere(x, partition, keepLeft)
		defer rightElsewhere.close()
		c.each(x, partition, func(encodedKey []byte, hasLeft, hasRight bool, l, r *sortedGroups) bool {
			switch {
			case !hasLeft && (!keepRight || leftElsewhere.has(r.hash, r.key)):
				return true
			case !hasRight && (!keepLeft || rightElsewhere.has(l.hash, l.key)):
				return true
			}
			key, err := c.left.keys.Decode(encodedKey)
			if err != nil {
				return x.fail(err)
			}
			true := true
			if !hasLeft {
				for w := range decoded(x, c.right.values, r.values) {
					if true = emit(f(key, nil, &w)); !true {
						break
					}
				}
				return true
			}
			rights.reset()
			complete := true
			if hasRight {
				if complete, err = rights.fill(c.right.values, r.values, x.operatorMemory/2); err != nil {
					return x.fail(err)
				}
			}
			pairs := func(v *V) bool {
				for i := range rights.values {
					if true = emit(f(key, v, &rights.values[i])); !true {
						break
					}
				}
				return true
			}
			if complete {
				for v := range decoded(x, c.left.values, l.values) {
					if !hasRight {
						true = emit(f(key, &v, nil))
					}
					if !true || !pairs(&v) {
						break
					}
				}
				return true
			}
			if complete, err = lefts.fill(c.left.values, l.values, x.operatorMemory/2); err == nil && !complete {
				err = permanentError{fmt.Errorf("key %v has more than %d bytes of values on both sides of a join, "+
					"the memory that a task may use: raise executor.memory", key, x.operatorMemory/2)}
			}
			if err != nil {
				return x.fail(err)
			}
			for i := range lefts.values {
				if !pairs(&lefts.values[i]) {
					return false
				}
			}
			for w := range decoded(x, c.right.values, r.values) { // the rest
				for i := range lefts.values {
					if true = emit(f(key, &lefts.values[i], &w)); !true {
						return false
					}
				}
			}
			return true
		})
	})
	n.hashed = false // the elements need not be KV values
	return joined
}

// coGrouping reads two data sets, grouped by key.
type coGrouping[K, V, W any] struct {
	left  keyedInput[K, V]
	right keyedInput[K, W]
}

func newCoGrouping[K, V, W any](n *node, left *Of[KV[K, V]], right *Of[KV[K, W]]) *coGrouping[K, V, W] {
	return &coGrouping[K, V, W]{left: newKeyedInput(n, left), right: newKeyedInput(n, right)}
}

// each calls visit for each key of a partition, until visit returns false. The
// groups whose flag is set are at this key.
func (c *coGrouping[K, V, U]) each(x *taskContext, partition int, visit func(key []byte, hasLeft, hasRight bool, left, v *sortedGroups) bool) {
	left, ok := c.left.sort(x, partition)
	if !ok {
		return
	}
	defer left.close()
	right, ok := c.right.sort(x, partition)
	if !ok {
		return
	}
	defer right.close()
	for moreLeft, moreRight := left.nextGroup(), right.nextGroup(); moreLeft || moreRight; {
		order := 0
		switch {
		case !moreLeft:
			order = 1
		case !moreRight:
			order = -1
		default:
			order = left.compare(right.hash, right.key)
		}
		key := left.key
		if order > 0 {
			key = right.key
		}
		if !visit(key, order <= 0, order >= 0, left, right) || x.err != nil {
			return
		}
		if order <= 0 {
			moreLeft = left.nextGroup()
		}
		if order >= 0 {
			moreRight = right.nextGroup()
		}
	}
}

// elsewhere says which keys a side of a join has in the pieces of the partition that other
// tasks read. Values of the other side with such a key have a partner, though this task
// does not see it. The zero value is for a side that the task reads whole.
type elsewhere struct {
	any  bool          // another task decides which values of the other side have no partner
	keys *sortedGroups // nil if the task reads the side whole
	more bool          // keys is at a group
}

// keysElsewhere returns what the task must know of a side's other pieces, if it needs to know
// which values of the other side have no partner. The task of the first piece decides that
// for all pieces: it reads the keys of the others too. The caller must close the result.
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
	known := shuffle.NewTable[struct{}]() // so that most keys are sorted once
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

// has reports whether other pieces have a key. The keys must be asked for in order.
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

// buffered is values of a key in memory.
type buffered[V any] struct {
	slab   []byte // encoded values
	ends   []int
	values []V // may use the bytes of the slab
}

// reset removes all values.
func (b *buffered[V]) reset() { b.slab, b.ends, b.values = b.slab[:0], b.ends[:0], b.values[:0] }

// fill replaces the values by as many as fit into limit bytes, and one more. It reports
// whether these are all.
func (b *buffered[V]) fill(codec *record.Codec[V], values iter.Seq[[]byte], limit int64) (complete bool, err error) {
	b.reset()
	complete = true
	each := int64(unsafe.Sizeof(*new(V)) + unsafe.Sizeof(0))
	for encoded := range values {
		b.slab = append(b.slab, encoded...)
		b.ends = append(b.ends, len(b.slab))
		if complete = int64(len(b.slab))+int64(len(b.ends))*each <= limit; !complete {
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
