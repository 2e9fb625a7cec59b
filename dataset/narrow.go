package dataset

import (
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/bobbin-yarn/bobbin"
)

// Map returns f of each element.
func Map[T, U any](in *Of[T], f func(T) U) *Of[U] {
	return elementwise(in, "Map", func(x *taskContext, partition int, emit func(U) bool) {
		in.compute(x, partition, func(element T) bool { return emit(f(element)) })
	})
}

// TryMap returns f of each element. If f returns an error, the task fails with this error,
// and is retried.
func TryMap[T, U any](in *Of[T], f func(T) (U, error)) *Of[U] {
	return elementwise(in, "TryMap", func(x *taskContext, partition int, emit func(U) bool) {
		in.compute(x, partition, func(element T) bool {
			mapped, err := f(element)
			if err != nil {
				return x.fail(err)
			}
			return emit(mapped)
		})
	})
}

// FlatMap returns, for each element, all elements of the sequence that f returns for it,
// such as the words of a line.
func FlatMap[T, U any](in *Of[T], f func(T) iter.Seq[U]) *Of[U] {
	return elementwise(in, "FlatMap", func(x *taskContext, partition int, emit func(U) bool) {
		in.compute(x, partition, func(element T) bool {
			for mapped := range f(element) {
				if !emit(mapped) {
					return false
				}
			}
			return true
		})
	})
}

// Flatten returns the elements of all slices in the data set.
func Flatten[T any](in *Of[[]T]) *Of[T] {
	return elementwise(in, "Flatten", func(x *taskContext, partition int, emit func(T) bool) {
		in.compute(x, partition, func(elements []T) bool {
			for _, element := range elements {
				if !emit(element) {
					return false
				}
			}
			return true
		})
	})
}

// Filter returns the elements for which keep returns true.
func Filter[T any](in *Of[T], keep func(T) bool) *Of[T] {
	filtered := elementwise(in, "Filter", func(x *taskContext, partition int, emit func(T) bool) {
		in.compute(x, partition, func(element T) bool { return !keep(element) || emit(element) })
	})
	filtered.node.hashed = in.node.hashed
	return filtered
}

// MapPartitions returns the elements that f yields for each partition. f can read the
// elements of the partition only once. If f yields an error, the task fails with this
// error, and is retried.
func MapPartitions[T, U any](in *Of[T], f func(task *bobbin.Task, elements iter.Seq[T]) iter.Seq2[U, error]) *Of[U] {
	return narrow(in, "MapPartitions", func(x *taskContext, partition int, emit func(U) bool) {
		elements := func(yield func(T) bool) { in.compute(x, partition, yield) }
		for mapped, err := range f(x.task, elements) {
			switch {
			case x.err != nil: // f saw the end of its input and not the error
				return
			case err != nil:
				x.fail(err)
				return
			case !emit(mapped):
				return
			}
		}
	})
}

// Sample returns each element with the given probability, which must be 0 to 1. With the
// same seed, each run over the same partitions returns the same elements.
func Sample[T any](in *Of[T], probability float64, seed uint64) *Of[T] {
	if !(probability >= 0 && probability <= 1) {
		in.plan.reject("Sample", fmt.Errorf("the probability is %v: want 0 to 1", probability))
	}
	sampled := narrow(in, "Sample", func(x *taskContext, partition int, emit func(T) bool) {
		random := rand.New(rand.NewPCG(seed, uint64(partition)))
		in.compute(x, partition, func(element T) bool { return random.Float64() >= probability || emit(element) })
	})
	sampled.node.hashed = in.node.hashed
	sampled.node.arguments = fmt.Sprintf("probability %v, seed %d", probability, seed)
	return sampled
}

// Union returns the elements of all data sets. It keeps duplicates.
func Union[T any](first *Of[T], others ...*Of[T]) *Of[T] {
	sets := append([]*Of[T]{first}, others...)
	inputs := make([]*node, len(sets))
	for i, set := range sets {
		inputs[i] = set.node
	}
	locate := func(l *layout, partition int) (set, own int) {
		for partition >= l.count(inputs[set]) {
			partition -= l.count(inputs[set])
			set++
		}
		return set, partition
	}
	return newOf(first.plan, &node{
		operator: "Union", inputs: inputs,
		partitions: func(l *layout) (n int) {
			for _, input := range inputs {
				n += l.count(input)
			}
			return n
		},
		parentPartitions: func(l *layout, partition int, visit func(*node, int)) {
			set, own := locate(l, partition)
			visit(inputs[set], own)
		},
	}, func(x *taskContext, partition int, emit func(T) bool) {
		set, own := locate(x.layout, partition)
		sets[set].compute(x, own, emit)
	})
}

// ForEachPartition calls f with the elements of each partition, for its side effects, such
// as writing to a database. It returns an empty data set, whose actions, such as Run, run
// f. f can read the elements only once. If f returns an error, the task fails with this
// error, and is retried. So f can be called several times for a partition, even at the same
// time.
func ForEachPartition[T any](in *Of[T], f func(task *bobbin.Task, elements iter.Seq[T]) error) *Of[struct{}] {
	return narrow(in, "ForEachPartition", func(x *taskContext, partition int, _ func(struct{}) bool) {
		elements := func(yield func(T) bool) { in.compute(x, partition, yield) }
		if err := f(x.task, elements); err != nil {
			x.fail(err)
		}
	})
}
