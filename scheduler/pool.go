package scheduler

import (
	"cmp"
	"fmt"
	"slices"
)

// Mode is how a pool divides cores among its task sets and pools.
type Mode int

// The modes of a pool.
const (
	// FIFO: the first that has a task for a core takes it. Pools go before task
	// sets, in the order in which they are listed.
	FIFO Mode = iota
	// FAIR: the one that is furthest below its share takes it.
	FAIR
)

// String is the mode's name as it is configured.
func (m Mode) String() string {
	if m == FAIR {
		return "FAIR"
	}
	return "FIFO"
}

// Pool is a share of the executors. Each resource profile's executors are
// shared for themselves.
type Pool struct {
	// Name is unique among all pools.
	Name string
	// Mode is how the pool divides its share.
	Mode Mode
	// Weight is the size of its share beside those of its siblings in a FAIR
	// pool: twice the weight, twice the cores. 1 where it is 0.
	Weight int
	// MinShare is how many cores the pool gets before siblings that have their
	// own MinShare get more.
	MinShare int
	// Pools are nested in it.
	Pools []Pool
}

// DefaultPool is the pool of the task sets that name none.
const DefaultPool = "default"

// CheckPools says what is wrong with a list of pools: a name that is missing or
// there twice, or a number that is negative.
func CheckPools(pools []Pool) error {
	return checkPools(pools, map[string]bool{})
}

func checkPools(pools []Pool, names map[string]bool) error {
	for _, pool := range pools {
		switch {
		case pool.Name == "":
			return fmt.Errorf("pool: it has no name")
		case names[pool.Name]:
			return fmt.Errorf("pool %s: there are two of this name", pool.Name)
		case pool.Weight < 0:
			return fmt.Errorf("pool %s: its weight is %d, which must not be negative", pool.Name, pool.Weight)
		case pool.MinShare < 0:
			return fmt.Errorf("pool %s: its minimum share is %d cores, which must not be negative", pool.Name, pool.MinShare)
		}
		names[pool.Name] = true
		if err := checkPools(pool.Pools, names); err != nil {
			return err
		}
	}
	return nil
}

// schedulable is what a pool divides its cores among: a task set or a pool. The
// pools of a profile are a tree of them.
type schedulable struct {
	// set is nil for a pool.
	set *taskSet
	// parent is nil for the root.
	parent *schedulable
	name   string
	mode   Mode
	// weight and minShare are those of a Pool, 1 and 0 for a task set.
	weight, minShare int
	// rank orders siblings that have an equal right to a core.
	rank rank
	// running is how many cores its running attempts hold.
	running int

	// queue are those children that have something to launch, in the order of
	// their ranks in a FIFO pool, as a heap in a FAIR one. queued says that this
	// one is in its parent's queue; at is where in a heap, -1 while it is aside.
	queue  []*schedulable
	queued bool
	at     int

	// What serves the offer that is being made: turn is how many children of a
	// FIFO pool had theirs, aside those of a FAIR pool that took nothing, spent
	// whether a child has nothing to launch any more, touched whether this one has
	// a part in the offer.
	turn           int
	aside          []*schedulable
	spent, touched bool
}

// rank orders siblings: pools as they were made, then task sets by priority.
type rank struct {
	pool int // counts pools; the largest int for task sets
	Priority
	submitted uint64 // counts task sets
}

func (r rank) compare(other rank) int {
	return cmp.Or(cmp.Compare(r.pool, other.pool), cmp.Compare(r.Job, other.Job), cmp.Compare(r.Stage, other.Stage),
		cmp.Compare(r.submitted, other.submitted))
}

// newRoot makes the tree of a profile's pools.
func newRoot(config *Config) (root *schedulable, byName map[string]*schedulable) {
	root = &schedulable{name: "root", mode: config.Mode, weight: 1}
	byName = map[string]*schedulable{}
	var grow func(parent *schedulable, pools []Pool)
	grow = func(parent *schedulable, pools []Pool) {
		for _, pool := range pools {
			grow(addPool(byName, parent, pool), pool.Pools)
		}
	}
	grow(root, config.Pools)
	return root, byName
}

func addPool(byName map[string]*schedulable, parent *schedulable, pool Pool) *schedulable {
	added := &schedulable{
		parent: parent, name: pool.Name, mode: pool.Mode, weight: max(pool.Weight, 1), minShare: pool.MinShare, rank: rank{pool: len(byName)},
	}
	byName[pool.Name] = added
	return added
}

// pool is the pool that a task set goes to. Without FAIR sharing there is but
// the root; with it a pool that nobody described is made as it is named.
func (p *profile) pool(name string) *schedulable {
	if p.root.mode == FIFO {
		return p.root
	}
	if name == "" {
		name = DefaultPool
	}
	if pool := p.pools[name]; pool != nil {
		return pool
	}
	return addPool(p.pools, p.root, Pool{Name: name})
}

// before is whether n has more right to a core than its sibling m, as in Spark:
// those below their minimum share go first, by how much of it they have; then
// the one that has the least for its weight.
func (n *schedulable) before(m *schedulable) bool {
	needy, needyToo := n.running < n.minShare, m.running < m.minShare
	if needy != needyToo {
		return needy
	}
	ours, theirs := n.running*m.weight, m.running*n.weight
	if needy {
		ours, theirs = n.running*m.minShare, m.running*n.minShare
	}
	if ours != theirs {
		return ours < theirs
	}
	return n.rank.compare(m.rank) < 0
}

// enqueue has a schedulable with waiting tasks, and all that it is in, take part
// in offers.
func (n *schedulable) enqueue() {
	for ; n.parent != nil && !n.queued; n = n.parent {
		n.queued = true
		if n.parent.mode == FAIR {
			n.parent.push(n)
			continue
		}
		at, _ := n.parent.position(n)
		n.parent.queue = slices.Insert(n.parent.queue, at, n)
	}
}

// dequeue is the reverse. It is not for the middle of an offer.
func (n *schedulable) dequeue() {
	for ; n.parent != nil && n.queued && len(n.queue) == 0; n = n.parent {
		n.queued = false
		if n.parent.mode == FAIR {
			n.parent.removeAt(n.at)
			continue
		}
		at, _ := n.parent.position(n)
		n.parent.queue = slices.Delete(n.parent.queue, at, at+1)
	}
}

// position is where a child is in the queue of a FIFO pool, or would be.
func (n *schedulable) position(child *schedulable) (int, bool) {
	return slices.BinarySearchFunc(n.queue, child, func(a, b *schedulable) int { return a.rank.compare(b.rank) })
}

// hold counts cores that attempts hold from now on, or give back. In an offer,
// where cores are only taken, a FAIR pool puts its queue in order itself.
func (n *schedulable) hold(cores int) {
	for ; n != nil; n = n.parent {
		n.running += cores
		if cores < 0 && n.queued && n.parent.mode == FAIR {
			n.parent.up(n.at)
		}
	}
}

// push, removeAt, up and down are those of a binary heap by before.
func (n *schedulable) push(child *schedulable) {
	child.at = len(n.queue)
	n.queue = append(n.queue, child)
	n.up(child.at)
}

func (n *schedulable) removeAt(at int) {
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

func (n *schedulable) up(at int) {
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

func (n *schedulable) down(at int) {
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
