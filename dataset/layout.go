package dataset

import (
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// layout has the driver's decisions about the partitions of data sets. Tasks receive a
// layout, and decide nothing themselves.
type layout struct {
	Partitions int                         // number of partitions of shuffles by the hash of keys
	Sources    map[ref]int                 // number of partitions of each source
	Bounds     map[uint64][][]byte         // bounds of the ranges of each range shuffle
	Offsets    map[ref][]int64             // number of elements before each partition
	Outputs    map[uint64][]shuffle.Output // outputs of the shuffles that the tasks read
	Cached     map[ref]Level               // data sets for which Cache is in effect
	Joins      map[ref]int                 // index of the input that each join uses; see node.broadcasts
}

// count returns the number of partitions of a node.
func (l *layout) count(n *node) int { return n.partitions(l) }

// inputs returns the nodes whose partitions n reads without a shuffle.
func (l *layout) inputs(n *node) []*node {
	if n.broadcasts == nil {
		return n.inputs
	}
	i := l.Joins[n.ref()]
	return n.inputs[i : i+1]
}

// walk calls visit for a partition of a node, and for each partition of other nodes from
// which this partition is computed without a shuffle.
func (l *layout) walk(n *node, partition int, visit func(n *node, partition int)) {
	visit(n, partition)
	if n.parentPartitions != nil {
		n.parentPartitions(l, partition, func(input *node, own int) { l.walk(input, own, visit) })
		return
	}
	for _, input := range l.inputs(n) {
		l.walk(input, partition, visit)
	}
}

// within calls visit once for n and for each node from which n is computed without a
// shuffle. These are the nodes that the stage of n computes.
func (l *layout) within(n *node, visit func(*node)) {
	seen := map[*node]bool{}
	var walk func(*node)
	walk = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		visit(n)
		for _, input := range l.inputs(n) {
			walk(input)
		}
	}
	walk(n)
}

// needed returns the part of the layout that the tasks of a stage need. The stage computes
// final. written is the shuffle that it writes or samples, nil if there is none.
func (l *layout) needed(final *node, written *exchange) *layout {
	part := &layout{Partitions: l.Partitions, Sources: map[ref]int{}, Bounds: map[uint64][][]byte{}, Offsets: map[ref][]int64{}, Cached: map[ref]Level{}, Joins: map[ref]int{}}
	add := func(n *node) {
		copyEntry(part.Sources, l.Sources, n.ref())
		copyEntry(part.Offsets, l.Offsets, n.ref())
		copyEntry(part.Cached, l.Cached, n.ref())
		copyEntry(part.Joins, l.Joins, n.ref())
		for _, x := range n.shuffles {
			copyEntry(part.Bounds, l.Bounds, x.id())
		}
	}
	l.within(final, add)
	if written != nil {
		add(written.node)
	}
	return part
}

func copyEntry[K comparable, V any](to, from map[K]V, key K) {
	if value, ok := from[key]; ok {
		to[key] = value
	}
}
