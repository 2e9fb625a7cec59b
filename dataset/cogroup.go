package dataset

import (
	"iter"
	"unsafe"

	"github.com/bobbin-yarn/bobbin/internal/record"
)

// Both has the values of one key in two data sets. Each sequence can be iterated only once.
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

// coGrouping reads two data sets together, grouped by key.
type coGrouping[K, V, W any] struct {
	left  keyedInput[K, V]
	right keyedInput[K, W]
}

func newCoGrouping[K, V, W any](n *node, left *Of[KV[K, V]], right *Of[KV[K, W]]) *coGrouping[K, V, W] {
	return &coGrouping[K, V, W]{left: newKeyedInput(n, left), right: newKeyedInput(n, right)}
}

// each calls visit with each key of a partition, until visit returns false. hasLeft reports
// whether the left data set has the key; if so, left.values yields its values for the key.
// hasRight and right have the same meaning for the right data set.
func (c *coGrouping[K, V, W]) each(x *taskContext, partition int, visit func(key []byte, hasLeft, hasRight bool, left, right *sortedGroups) bool) {
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
