package pool

import (
	"cmp"
	"math"
	"slices"
)

// Leaf is what a tree schedules.
type Leaf interface {
	// HasWork reports whether there is a task to launch.
	HasWork() bool
}

// Tree is the pools and leaves that share the executors of one resource profile.
type Tree[L Leaf] struct {
	root   *Node[L]
	byName map[string]*Node[L]
	// visited are the nodes that the current offer has reached, parents before
	// children.
	visited []*Node[L]
}

// Node is a pool or a leaf in a tree.
type Node[L Leaf] struct {
	// Leaf is unset for a pool.
	Leaf L

	// parent is nil for the root.
	parent *Node[L]
	isPool bool
	mode   Mode
	// weight and minShare are those of a Pool, 1 and 0 for a leaf.
	weight, minShare int
	// rank orders siblings that have an equal right to a core.
	rank rank
	// cores is how many cores the attempts of the node use.
	cores int

	// queue are the children with work: ordered by rank in a FIFO pool, a heap by
	// before in a FAIR pool.
	queue []*Node[L]
	// queued reports whether the node is among its parent's children with work, and
	// at is its index in the heap; -1 while the parent has set it aside.
	queued bool
	at     int

	// The rest is the state of one offer. skipped counts the leading children of a
	// FIFO pool that take no more, aside are those of a FAIR pool. drained reports
	// whether a child has run out of work.
	skipped          int
	aside            []*Node[L]
	drained, visited bool
}

// rank orders siblings: pools as they were added, then leaves by priority.
type rank struct {
	pool int // number of the pool; the largest int for leaves
	Priority
	sequence uint64
}

// New returns a tree of the given pools; mode is that of its root.
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

// AddLeaf adds a leaf to a pool. In a tree with a FAIR root, a pool that is not
// described is created with weight 1 and FIFO; with a FIFO root there are no
// pools, and the name has no effect. sequence orders leaves of equal priority.
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

// HasWork reports whether any leaf is queued.
func (t *Tree[L]) HasWork() bool { return len(t.root.queue) > 0 }

// Sole returns the leaf that takes the next free core, whichever executor it is
// on: the first of a FIFO pool, the only one of a FAIR pool. It returns nil if
// leaves share the cores or if none is queued.
func (t *Tree[L]) Sole() *Node[L] {
	n := t.root
	for n.isPool {
		if len(n.queue) == 0 || n.mode == FAIR && len(n.queue) > 1 {
			return nil
		}
		n = n.queue[0]
	}
	return n
}

// Next returns the leaf that goes next in the current offer and how many tasks it
// may launch before Next is called again. It returns nil if no leaf takes any more.
func (t *Tree[L]) Next() (*Node[L], int) {
	n, most := t.root, math.MaxInt
	for {
		if !n.visited {
			n.visited = true
			t.visited = append(t.visited, n)
		}
		if !n.isPool {
			return n, most
		}
		switch {
		case n.skipped < len(n.queue): // skipped is 0 in a FAIR pool
			if n.mode == FAIR {
				most = 1
			}
			n = n.queue[n.skipped]
		case n.parent == nil:
			return nil, 0
		default:
			n.Skip()
			n, most = t.root, math.MaxInt
		}
	}
}

// Skip leaves a node that Next has reached out of the rest of the offer.
func (n *Node[L]) Skip() {
	up := n.parent
	if up.mode == FIFO {
		up.skipped++
		return
	}
	up.removeAt(n.at)
	n.at = -1
	up.aside = append(up.aside, n)
}

// EndOffer makes skipped nodes ready for the next offer and drops those that have
// run out of work.
func (t *Tree[L]) EndOffer() {
	for i, n := range slices.Backward(t.visited) {
		t.visited[i], n.visited = nil, false
		if n.drained && n.mode == FIFO {
			n.queue = slices.DeleteFunc(n.queue, func(child *Node[L]) bool {
				child.queued = child.hasWork()
				return !child.queued
			})
		}
		for _, child := range n.aside {
			if child.queued = child.hasWork(); child.queued {
				n.push(child)
			}
		}
		clear(n.aside)
		n.aside, n.skipped, n.drained = n.aside[:0], 0, false
		if up := n.parent; up != nil && !n.hasWork() {
			up.drained = true
			if up.mode == FAIR && n.at >= 0 {
				n.queued = false
				up.removeAt(n.at)
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

// Compare orders leaves by priority, then by sequence.
func (n *Node[L]) Compare(other *Node[L]) int {
	a, b := &n.rank, &other.rank
	return cmp.Or(cmp.Compare(a.pool, b.pool), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Stage, b.Stage),
		cmp.Compare(a.sequence, b.sequence))
}

// Precedes reports whether both leaves are in one FIFO pool, and n goes first.
func (n *Node[L]) Precedes(other *Node[L]) bool {
	return n.parent == other.parent && n.parent.mode == FIFO && n.Compare(other) < 0
}

// before reports whether n has more right to a core than its sibling m, as in
// Spark: nodes below their minimum share go first, by how much of it they use;
// then the one that uses the least for its weight.
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

// Enqueue lets a leaf with work, and the pools around it, take part in offers. It
// must not be called during an offer.
func (n *Node[L]) Enqueue() {
	for ; n.parent != nil && !n.queued; n = n.parent {
		n.queued = true
		if n.parent.mode == FAIR {
			n.parent.push(n)
			continue
		}
		at := n.parent.position(n)
		n.parent.queue = slices.Insert(n.parent.queue, at, n)
	}
}

// Dequeue is the reverse of Enqueue. It must not be called during an offer.
func (n *Node[L]) Dequeue() {
	for ; n.parent != nil && n.queued && len(n.queue) == 0; n = n.parent {
		n.queued = false
		if n.parent.mode == FAIR {
			n.parent.removeAt(n.at)
			continue
		}
		at := n.parent.position(n)
		n.parent.queue = slices.Delete(n.parent.queue, at, at+1)
	}
}

// position returns where a child belongs in the queue of a FIFO pool.
func (n *Node[L]) position(child *Node[L]) int {
	at, _ := slices.BinarySearchFunc(n.queue, child, (*Node[L]).Compare)
	return at
}

// AddCores records that attempts of a leaf use more cores, or fewer if cores is
// negative.
func (n *Node[L]) AddCores(cores int) {
	for ; n != nil; n = n.parent {
		n.cores += cores
		switch {
		case !n.queued || n.at < 0 || n.parent.mode == FIFO:
		case cores < 0:
			n.parent.up(n.at)
		default:
			n.parent.down(n.at)
		}
	}
}

// push, removeAt, up and down are those of a binary heap ordered by before.
func (n *Node[L]) push(child *Node[L]) {
	child.at = len(n.queue)
	n.queue = append(n.queue, child)
	n.up(child.at)
}

func (n *Node[L]) removeAt(at int) {
	last := len(n.queue) - 1
	n.queue[at] = n.queue[last]
	n.queue[at].at = at
	n.queue[last] = nil
	n.queue = n.queue[:last]
	if at < last {
		n.down(at)
		n.up(at)
	}
}

func (n *Node[L]) up(at int) {
	heap, child := n.queue, n.queue[at]
	for at > 0 {
		parent := (at - 1) / 2
		if !child.before(heap[parent]) {
			break
		}
		heap[at], heap[parent].at = heap[parent], at
		at = parent
	}
	heap[at], child.at = child, at
}

func (n *Node[L]) down(at int) {
	heap, child := n.queue, n.queue[at]
	for {
		next := 2*at + 1
		if next >= len(heap) {
			break
		}
		if next+1 < len(heap) && heap[next+1].before(heap[next]) {
			next++
		}
		if !heap[next].before(child) {
			break
		}
		heap[at], heap[next].at = heap[next], at
		at = next
	}
	heap[at], child.at = child, at
}
