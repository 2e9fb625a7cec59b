package dataset

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/stage"
)

// assignment is what one task of a stage computes: some partitions, or a piece of one.
type assignment struct {
	span
	piece
	bytes int64 // approximate number of bytes that the task reads
}

// piece restricts a task to the outputs of some map tasks of a shuffle, so that the task
// computes only some of the elements of its partition. The zero value is for a task that
// computes whole partitions.
type piece struct {
	_       struct{} `cbor:",toarray"`
	Shuffle uint64
	Maps    span
}

// A partition is skewed if its bytes exceed both skewFactor times the bytes of the median
// partition and skewTasks times the bytes that a task should read. Spark has the same
// factor (skewedPartitionFactor).
const (
	skewFactor = 5
	skewTasks  = 2
)

// divisible returns the shuffles whose skewed partitions may be divided among several of
// the tasks that compute final. If they are divided, each of these tasks computes only a
// piece of a partition of each data set in computed.
func (l *layout) divisible(final *node) (shuffles []*exchange, computed []*node) {
	for n := final; ; n = l.inputs(n)[0] {
		if _, cached := l.Cached[n.ref()]; cached { // tasks store whole partitions of cached data sets
			return nil, nil
		}
		if computed = append(computed, n); len(n.divisible) > 0 {
			return n.divisible, computed
		}
		if !n.elementwise {
			return nil, nil
		}
	}
}

// splitSkewed divides partitions among tasks that read about target bytes each. If the
// operators of the stage allow it, several tasks each compute a piece of a skewed
// partition. sizes has the bytes of each partition.
func (e *engine) splitSkewed(s *stageState, l *layout, all span, sizes []int64, target int64) (tasks []assignment) {
	var shuffles []*exchange
	var computed []*node
	if s.exchange != nil || !s.job.kind.byPartition() {
		shuffles, computed = l.divisible(s.final)
	}
	s.partlyComputed = nil
	median := int64(0)
	if sorted := slices.Sorted(slices.Values(sizes[all.First:])); len(sorted) > 0 {
		median = sorted[len(sorted)/2]
	}
	limit := max(skewFactor*median, skewTasks*target)
	for _, whole := range coalesceSpans(all, sizes, target) {
		var bytes int64
		for _, size := range sizes[whole.First:whole.End] {
			bytes += size
		}
		x, most := (*exchange)(nil), limit // the shuffle with the most bytes, if more than limit
		for _, shuffle := range shuffles {
			if bytes := e.sizesOf(shuffle).total[whole.First]; bytes > most {
				x, most = shuffle, bytes
			}
		}
		if x == nil {
			tasks = append(tasks, assignment{span: whole, bytes: bytes})
			continue
		}
		s.partlyComputed = computed
		pieces := e.pieces(x, whole.First, max(target, median))
		for _, p := range pieces {
			tasks = append(tasks, assignment{whole, p, bytes / int64(len(pieces))})
		}
	}
	return tasks
}

// pieces divides a partition into pieces by the map outputs of a shuffle. Each piece reads
// about target bytes of the shuffle, or a single map output.
func (e *engine) pieces(x *exchange, partition int, target int64) (pieces []piece) {
	outputs := e.stages[stage.StageID{Shuffle: stage.ShuffleID(x.id())}].outputs
	sizes := make([]int64, len(outputs))
	for i := range outputs {
		sizes[i] = outputs[i].Sizes.Of(partition)
	}
	for _, maps := range coalesceSpans(span{End: len(outputs)}, sizes, target) {
		pieces = append(pieces, piece{Shuffle: x.id(), Maps: maps})
	}
	return pieces
}
