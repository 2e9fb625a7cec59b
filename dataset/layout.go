package dataset

import (
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// layout is what the driver has decided about the partitions of data sets. Tasks
// get it, and never decide anew.
type layout struct {
	Partitions int                         // of hash shuffles
	Sources    map[ref]int                 // number of partitions of each source
	Bounds     map[uint64][][]byte         // bounds of the ranges of each range shuffle
	Offsets    map[ref][]int64             // for each operator that is indexed: number of elements before each partition
	Outputs    map[uint64][]shuffle.Output // outputs of the shuffles that the tasks read
	Cached     map[ref]Level               // data sets to be cached
}

// count returns the number of partitions of a node.
func (l *layout) count(n *node) int { return n.count(l) }

// walk calls visit for a partition of a node, and for each partition of other nodes
// of the stage from which it is computed.
func (l *layout) walk(n *node, partition int, visit func(n *node, partition int)) {
	visit(n, partition)
	if n.parents != nil {
		n.parents(l, partition, func(input *node, own int) { l.walk(input, own, visit) })
		return
	}
	for _, input := range n.inputs {
		l.walk(input, partition, visit)
	}
}

// within calls visit once for each node of the stage that computes a node: those
// that are reached without a shuffle.
func within(n *node, visit func(*node)) {
	seen := map[*node]bool{}
	var walk func(*node)
	walk = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		visit(n)
		for _, input := range n.inputs {
			walk(input)
		}
	}
	walk(n)
}
