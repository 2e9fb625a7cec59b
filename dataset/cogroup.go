package dataset

import (
	"iter"
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
