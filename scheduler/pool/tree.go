package pool

import (
	"cmp"
	"math"
	"slices"
)

// Leaf is a task set, as a leaf of a tree.
type Leaf interface {
	// HasWork reports whether the leaf has a task to launch.
	HasWork() bool
}

// Tree is a tree of the pools and leaves that share the executors of one resource profile.
type Tree[L Leaf] struct {
	root   *Node[L]
	byName map[string]*Node[L]
	// visited are the nodes that Next reached in this offer, parents before children.
	visited []*Node[L]
}

// Node is a pool or a leaf in a tree.
type Node[L Leaf] struct {
	Leaf L // the task set, if the node is a leaf

	parent *Node[L] // nil for the root
	isPool bool
	mode   Mode
	// weight and minShare are Weight and MinShare of the Pool; 1 and 0 for a leaf.
	weight, minShare int
	rank             rank // order among the children of a FIFO pool, and among equal children of a FAIR pool
	cores            int  // used by running attempts of the node and its descendants

	// queue are the children with work. In a FIFO pool they are sorted by rank. In a
	// FAIR pool they are a binary heap, whose first child gets the next free core.
	queue []*Node[L]
	// queued is true while the node is one of its parent's children with work. index is the
	// node's index in the heap of a FAIR parent; -1 while the node is skipped.
	queued bool
	index  int

	// The fields below are the state of one offer. skipped is the number of children at the
	// front of a FIFO pool's queue that are skipped for the rest of the offer. skippedChildren
	// are the skipped children of a FAIR pool. drained is true if a child has no work any more.
	// visited is true if the node is in Tree.visited.
	skipped          int
	skippedChildren  []*Node[L]
	drained, visited bool
}

// rank orders siblings: pools as they were added, then leaves by priority.
type rank struct {
	pool int // number of the pool, in the order of creation; the largest int for leaves
	Priority
	sequence uint64
}

// New returns a tree with the given pools. mode is the mode of its root.
func New[L Leaf](mode Mode, pools []Pool) *Tree[L] {
	t := &Tree[L]{root: &Node[L]{isPool: true, mode: mode, weight: 1}, byName: map[string]*Node[L]{}}
	t.addPools(t.root, pools)
	return t
}

func (t *Tree[L]) addPools(parent *Node[L], pools []Pool) {
	for _, pool := range pools {
		t.addPools(t.addPool(parent, pool), pool.Pools)
	}
}

func (t *Tree[L]) addPool(parent *Node[L], pool Pool) *Node[L] {
	n := &Node[L]{
		parent: parent, isPool: true, mode: pool.Mode, weight: max(pool.Weight, 1), minShare: pool.MinShare,
		rank: rank{pool: len(t.byName)},
	}
	t.byName[pool.Name] = n
	return n
}

// AddLeaf adds a leaf to a pool. If the root is FAIR and there is no such pool, it creates a
// FIFO pool of weight 1. If the root is FIFO, there are no pools, and the name has no effect.
// sequence orders leaves of equal priority.
func (t *Tree[L]) AddLeaf(pool string, priority Priority, sequence uint64, leaf L) *Node[L] {
	if priority.Job == 0 {
		priority.Job = math.MaxUint64
	}
	return &Node[L]{
		Leaf: leaf, parent: t.pool(cmp.Or(pool, Default)), weight: 1,
		rank: rank{pool: math.MaxInt, Priority: priority, sequence: sequence},
	}
}

func (t *Tree[L]) pool(name string) *Node[L] {
	if t.root.mode == FIFO {
		return t.root
	}
	if pool := t.byName[name]; pool != nil {
		return pool
	}
	return t.addPool(t.root, Pool{Name: name})
}

// HasWork reports whether any leaf has tasks to launch.
func (t *Tree[L]) HasWork() bool { return len(t.root.queue) > 0 }

// OnlyCandidate returns the leaf that Next would return first, if the choice does not depend on
// how many cores the leaves use. It returns nil if a FAIR pool would have to choose between
// several children with work, or if no leaf has tasks to launch.
func (t *Tree[L]) OnlyCandidate() *Node[L] {
	n := t.root
	for n.isPool {
		if len(n.queue) == 0 || n.mode == FAIR && len(n.queue) > 1 {
			return nil
		}
		n = n.queue[0]
	}
	return n
}

// Next returns the leaf that may launch tasks next in the current offer, and how many tasks
// it may launch before Next is called again. It returns nil if all leaves are skipped.
func (t *Tree[L]) Next() (*Node[L], int) {
	n, limit := t.root, math.MaxInt
	for {
		if !n.visited {
			n.visited = true
			t.visited = append(t.visited, n)
		}
		if !n.isPool {
			return n, limit
		}
		switch {
		case n.skipped < len(n.queue): // skipped is always 0 in a FAIR pool
			if n.mode == FAIR {
				limit = 1
			}
			n = n.queue[n.skipped]
		case n.parent == nil:
			return nil, 0
		default:
			n.Skip()
			n, limit = t.root, math.MaxInt
		}
	}
}

// Skip excludes a node from the rest of the offer. In this offer, Next must have returned the
// node or visited it on the way from the root.
func (n *Node[L]) Skip() {
	parent := n.parent
	if parent.mode == FIFO {
		parent.skipped++
		return
	}
	parent.removeAt(n.index)
	n.index = -1
	parent.skippedChildren = append(parent.skippedChildren, n)
}

// EndOffer ends an offer: it adds skipped nodes to the queues again, and removes nodes without
// work.
func (t *Tree[L]) EndOffer() {
	for i, n := range slices.Backward(t.visited) {
		t.visited[i], n.visited = nil, false
		if n.drained && n.mode == FIFO {
			n.queue = slices.DeleteFunc(n.queue, func(child *Node[L]) bool {
				child.queued = child.hasWork()
				return !child.queued
			})
		}
		for _, child := range n.skippedChildren {
			if child.queued = child.hasWork(); child.queued {
				n.push(child)
			}
		}
		clear(n.skippedChildren)
		n.skippedChildren, n.skipped, n.drained = n.skippedChildren[:0], 0, false
		if parent := n.parent; parent != nil && !n.hasWork() {
			parent.drained = true
			if parent.mode == FAIR && n.index >= 0 {
				n.queued = false
				parent.removeAt(n.index)
			}
		}
	}
	t.visited = t.visited[:0]
}

func (n *Node[L]) hasWork() bool {
	if n.isPool {
		return len(n.queue) > 0
	}
	return n.Leaf.HasWork()
}

// Compare orders siblings: pools as they were added, then leaves by priority and sequence.
func (n *Node[L]) Compare(other *Node[L]) int {
	a, b := &n.rank, &other.rank
	return cmp.Or(cmp.Compare(a.pool, b.pool), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Stage, b.Stage),
		cmp.Compare(a.sequence, b.sequence))
}

// Precedes reports whether n and other are in the same FIFO pool and n is before other.
func (n *Node[L]) Precedes(other *Node[L]) bool {
	return n.parent == other.parent && n.parent.mode == FIFO && n.Compare(other) < 0
}

// before reports whether n gets a core before its sibling m in a FAIR pool, as in Spark. Nodes
// that use fewer cores than their minimum share come first, in the order of used cores divided
// by minimum share. The other nodes follow, in the order of used cores divided by weight. In
// both orders, the lowest value comes first.
func (n *Node[L]) before(m *Node[L]) bool {
	below, otherBelow := n.cores < n.minShare, m.cores < m.minShare
	if below != otherBelow {
		return below
	}
	ours, theirs := n.cores*m.weight, m.cores*n.weight
	if below {
		ours, theirs = n.cores*m.minShare, m.cores*n.minShare
	}
	if ours != theirs {
		return ours < theirs
	}
	return n.Compare(m) < 0
}

// Enqueue adds a leaf that has tasks to launch to its parent's queue. It also adds that pool to
// its own parent's queue, and so on up to the root. It must not be called during an offer.
func (n *Node[L]) Enqueue() {
	for ; n.parent != nil && !n.queued; n = n.parent {
		n.queued = true
		if n.parent.mode == FAIR {
			n.parent.push(n)
			continue
		}
		i := n.parent.position(n)
		n.parent.queue = slices.Insert(n.parent.queue, i, n)
	}
}

// Dequeue removes a leaf without tasks to launch from its parent's queue. It also removes each
// ancestor whose queue becomes empty. It must not be called during an offer.
func (n *Node[L]) Dequeue() {
	for ; n.parent != nil && n.queued && len(n.queue) == 0; n = n.parent {
		n.queued = false
		if n.parent.mode == FAIR {
			n.parent.removeAt(n.index)
			continue
		}
		i := n.parent.position(n)
		n.parent.queue = slices.Delete(n.parent.queue, i, i+1)
	}
}

// position returns the index of a child in a FIFO pool's queue, or where to insert it.
func (n *Node[L]) position(child *Node[L]) int {
	i, _ := slices.BinarySearchFunc(n.queue, child, (*Node[L]).Compare)
	return i
}

// AddCores adds cores to the number of cores that a leaf and its ancestors use. cores may be
// negative.
func (n *Node[L]) AddCores(cores int) {
	for ; n != nil; n = n.parent {
		n.cores += cores
		switch {
		case !n.queued || n.index < 0 || n.parent.mode == FIFO:
		case cores < 0:
			n.parent.up(n.index)
		default:
			n.parent.down(n.index)
		}
	}
}

// push, removeAt, up and down are the operations of a binary heap, whose order is Node.before.
func (n *Node[L]) push(child *Node[L]) {
	child.index = len(n.queue)
	n.queue = append(n.queue, child)
	n.up(child.index)
}

func (n *Node[L]) removeAt(i int) {
	last := len(n.queue) - 1
	n.queue[i] = n.queue[last]
	n.queue[i].index = i
	n.queue[last] = nil
	n.queue = n.queue[:last]
	if i < last {
		n.down(i)
		n.up(i)
	}
}

func (n *Node[L]) up(i int) {
	heap, child := n.queue, n.queue[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !child.before(heap[parent]) {
			break
		}
		heap[i], heap[parent].index = heap[parent], i
		i = parent
	}
	heap[i], child.index = child, i
}

func (n *Node[L]) down(i int) {
	heap, child := n.queue, n.queue[i]
	for {
		next := 2*i + 1
		if next >= len(heap) {
			break
		}
		if next+1 < len(heap) && heap[next+1].before(heap[next]) {
			next++
		}
		if !heap[next].before(child) {
			break
		}
		heap[i], heap[next].index = heap[next], i
		i = next
	}
	heap[i], child.index = child, i
}
