package pool

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// job is a leaf with a number of tasks to launch, of one core each.
type job struct {
	name    string
	tasks   int
	refuses bool // launches no task although it has work
	node    *Node[*job]
}

func (j *job) HasWork() bool { return j.tasks > 0 }

// offer offers cores and returns the name of the job of each task that was launched, in order.
func offer(tree *Tree[*job], cores int) []string {
	var took []string
	for cores > 0 {
		leaf, most := tree.Next()
		if leaf == nil {
			break
		}
		launched := 0
		for j := leaf.Leaf; launched < most && cores > 0 && j.HasWork() && !j.refuses; launched++ {
			j.tasks--
			cores--
			leaf.AddCores(1)
			took = append(took, j.name)
		}
		if launched < most {
			leaf.Skip()
		}
	}
	tree.EndOffer()
	return took
}

func add(tree *Tree[*job], pool string, j *job) *job {
	j.node = tree.AddLeaf(pool, Priority{}, uint64(len(j.name)), j)
	j.node.Enqueue()
	return j
}

func TestFIFO(t *testing.T) {
	tree := New[*job](FIFO, nil)
	late := tree.AddLeaf("", Priority{Job: 2}, 1, &job{name: "late", tasks: 2})
	early := tree.AddLeaf("ignored", Priority{Job: 1}, 2, &job{name: "early", tasks: 2})
	late.Enqueue()
	early.Enqueue()
	require.True(t, early.Precedes(late))
	require.Same(t, early, tree.OnlyCandidate())
	require.Equal(t, []string{"early", "early", "late"}, offer(tree, 3))
	require.Same(t, late, tree.OnlyCandidate(), "early is out of work")
	late.Dequeue()
	require.False(t, tree.HasWork())
	require.Nil(t, tree.OnlyCandidate())
}

func TestFairByWeight(t *testing.T) {
	tree := New[*job](FAIR, []Pool{{Name: "a", Weight: 2}, {Name: "b"}})
	add(tree, "a", &job{name: "x", tasks: 10})
	add(tree, "b", &job{name: "yy", tasks: 10})
	require.Equal(t, []string{"x", "yy", "x", "x", "yy", "x"}, offer(tree, 6))
	require.Nil(t, tree.OnlyCandidate(), "two pools share the cores")
}

func TestMinimumShareGoesFirst(t *testing.T) {
	tree := New[*job](FAIR, []Pool{{Name: "a", Weight: 9}, {Name: "b", MinShare: 2}})
	add(tree, "a", &job{name: "x", tasks: 10})
	add(tree, "b", &job{name: "yy", tasks: 10})
	require.Equal(t, []string{"yy", "yy", "x", "x"}, offer(tree, 4))
}

func TestSkippedLeafReturnsInTheNextOffer(t *testing.T) {
	for _, mode := range []Mode{FIFO, FAIR} {
		tree := New[*job](mode, nil)
		x := add(tree, "x", &job{name: "x", tasks: 1, refuses: true})
		add(tree, "yy", &job{name: "yy", tasks: 2})
		require.Equal(t, []string{"yy"}, offer(tree, 1))
		x.refuses = false
		require.Equal(t, []string{"x", "yy"}, offer(tree, 9), mode)
		require.False(t, tree.HasWork())
	}
}

// Each core goes to a job with work. On the path from the root to that job, no sibling of a node
// has precedence over the node. No core stays unused while a job has work.
func TestEachCoreGoesToTheNodeThatIsDue(t *testing.T) {
	pools := []Pool{{Name: "a", Weight: 2}, {Name: "b", Mode: FAIR, MinShare: 3, Pools: []Pool{{Name: "b1"}, {Name: "b2", Mode: FAIR, Weight: 3}}}}
	rapid.Check(t, func(t *rapid.T) {
		tree := New[*job](FAIR, pools)
		var jobs []*job
		var running []*job
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "step") {
			case 0:
				j := &job{name: fmt.Sprint(step), tasks: rapid.IntRange(1, 6).Draw(t, "tasks")}
				j.node = tree.AddLeaf(rapid.SampledFrom([]string{"a", "b1", "b2", "new"}).Draw(t, "pool"), Priority{}, uint64(step), j)
				j.node.Enqueue()
				jobs = append(jobs, j)
			case 1:
				if len(running) > 0 {
					at := rapid.IntRange(0, len(running)-1).Draw(t, "ended")
					running[at].node.AddCores(-1)
					running = slices.Delete(running, at, at+1)
				}
			case 2:
				cores := rapid.IntRange(1, 5).Draw(t, "cores")
				for cores > 0 {
					leaf, most := tree.Next()
					if leaf == nil {
						break
					}
					if !leaf.Leaf.HasWork() {
						leaf.Skip()
						continue
					}
					require.Equal(t, 1, most, "a FAIR root gives one task at a time")
					for n := leaf; n.parent != nil; n = n.parent {
						for _, sibling := range n.parent.queue {
							if n.parent.mode == FAIR && withWork(sibling, jobs) {
								require.False(t, sibling.before(n), "%s has more right than %s", sibling.name(), n.name())
							}
						}
					}
					leaf.Leaf.tasks--
					cores--
					leaf.AddCores(1)
					running = append(running, leaf.Leaf)
				}
				tree.EndOffer()
				if cores > 0 {
					require.False(t, slices.ContainsFunc(jobs, (*job).HasWork), "a core is left")
				}
			}
			require.Equal(t, len(running), tree.root.cores)
			require.Equal(t, slices.ContainsFunc(jobs, (*job).HasWork), tree.HasWork())
		}
	})
}

func withWork(n *Node[*job], jobs []*job) bool {
	return slices.ContainsFunc(jobs, func(j *job) bool {
		for up := j.node; up != nil; up = up.parent {
			if up == n {
				return j.HasWork()
			}
		}
		return false
	})
}

func (n *Node[L]) name() string {
	return fmt.Sprintf("node of rank %+v with %d cores", n.rank, n.cores)
}
