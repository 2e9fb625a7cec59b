package dataset

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/stage"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// Tasks receive only the part of the layout that their stage needs.
func TestTasksGetOnlyTheLayoutOfTheirStage(t *testing.T) {
	p := &Plan{id: 7}
	add := func(n *node) *node {
		n.plan, n.index = p, len(p.nodes)
		p.nodes = append(p.nodes, n)
		return n
	}
	before := add(&node{})
	read := &exchange{input: before}
	input := add(&node{shuffles: []*exchange{read}})
	final := add(&node{inputs: []*node{input}})
	written := &exchange{input: final}
	after := add(&node{shuffles: []*exchange{written}})
	read.node, written.node = input, after
	l := &layout{Partitions: 3, Sources: map[ref]int{}, Bounds: map[uint64][][]byte{}, Offsets: map[ref][]int64{}, Cached: map[ref]Level{}}
	for _, n := range p.nodes {
		l.Sources[n.ref()], l.Offsets[n.ref()], l.Cached[n.ref()] = 1, []int64{2}, Disk
		for _, x := range n.shuffles {
			l.Bounds[x.id()] = [][]byte{{1}}
		}
	}
	got := l.needed(final, nil)
	require.Equal(t, 3, got.Partitions)
	require.Equal(t, map[ref]int{input.ref(): 1, final.ref(): 1}, got.Sources)
	require.Equal(t, map[ref][]int64{input.ref(): {2}, final.ref(): {2}}, got.Offsets)
	require.Equal(t, map[ref]Level{input.ref(): Disk, final.ref(): Disk}, got.Cached)
	require.Equal(t, map[uint64][][]byte{read.id(): {{1}}}, got.Bounds)
	require.Contains(t, l.needed(final, written).Bounds, written.id())
}

// The tasks of a stage compute each partition once, from all map outputs.
func TestTasksOfAStageComputeEachPartitionOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logarithms := rapid.SliceOfN(rapid.SliceOfN(rapid.ByteRange(0, 220), 8, 8), 1, 6).Draw(t, "logarithms of the sizes of partitions, by map task")
		n := &node{plan: &Plan{id: 1}}
		x := &exchange{node: n}
		n.shuffles, n.divisible = []*exchange{x}, []*exchange{x}
		read := &stageState{sizes: &shuffleSizes{total: make([]int64, 8)}}
		for _, ofTask := range logarithms {
			output := shuffle.Output{Sizes: shuffle.Sizes{Logarithms: ofTask}}
			read.outputs = append(read.outputs, output)
			for partition := range 8 {
				read.sizes.total[partition] += output.Sizes.Of(partition)
			}
		}
		e := &engine{stages: map[stage.StageID]*stageState{{Shuffle: stage.ShuffleID(x.id())}: read}}
		first := rapid.IntRange(0, 8).Draw(t, "first partition")
		target := rapid.Int64Range(1, 64<<20).Draw(t, "target")
		s := &stageState{final: n, job: &job{kind: collectElements}}
		next, maps := first, 0
		for _, task := range e.splitSkewed(s, &layout{}, span{First: first, End: 8}, read.sizes.total, target) {
			if task.First != next {
				t.Fatalf("partition %d follows %d", task.First, next-1)
			}
			if task.Shuffle != 0 {
				if task.End != next+1 || task.Maps.First != maps || task.Maps.End <= maps {
					t.Fatalf("the piece %v follows map task %d of partition %d", task, maps-1, next)
				}
				if maps = task.Maps.End; maps < len(logarithms) {
					continue
				}
			}
			next, maps = task.End, 0
		}
		if next != 8 || maps != 0 {
			t.Fatalf("the tasks end at partition %d and map task %d", next, maps)
		}
	})
}

// When executors remove a stage from their cache, they remove its plans too, except plans
// that other stages need and plans of the driver function in the same process.
func TestExecutorsForgetUnusedPlans(t *testing.T) {
	const base = 1 << 50 // no other plan has such an id
	for id := range uint64(3) {
		plans.add(&Plan{id: base + id, retraced: id != 2})
		defer plans.remove(base + id)
	}
	stageOf := func(ids ...uint64) *decodedStage {
		s := &decodedStage{}
		for _, id := range ids {
			s.Plans = append(s.Plans, planInput{ID: base + id})
		}
		return s
	}
	c := stageCache{byKey: map[[16]byte]*decodedStage{{1}: stageOf(1)}}
	c.forgetPlans(stageOf(0, 1, 2))
	require.Nil(t, plans.get(base))
	require.NotNil(t, plans.get(base+1))
	require.NotNil(t, plans.get(base+2))
}
