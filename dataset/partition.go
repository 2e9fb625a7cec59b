package dataset

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// Coalesce returns the elements in at most the given number of partitions, without a
// shuffle. Each new partition is computed from adjacent partitions of the data set.
func Coalesce[T any](in *Of[T], partitions int) *Of[T] {
	if partitions < 1 {
		in.plan.reject("Coalesce", errNoPartitions)
		partitions = 1
	}
	// merged returns the partitions of the input from which a partition is computed.
	merged := func(l *layout, partition int) span {
		all := l.count(in.node)
		n := min(all, partitions)
		return span{First: partition * all / n, End: (partition + 1) * all / n}
	}
	n := &node{operator: "Coalesce", inputs: []*node{in.node}, arguments: fmt.Sprintf("%d partitions", partitions)}
	n.partitions = func(l *layout) int { return min(l.count(in.node), partitions) }
	n.parentPartitions = func(l *layout, partition int, visit func(*node, int)) {
		s := merged(l, partition)
		for own := s.First; own < s.End; own++ {
			visit(in.node, own)
		}
	}
	return newOf(in.plan, n, func(x *taskContext, partition int, emit func(T) bool) {
		s := merged(x.layout, partition)
		for own, goOn := s.First, true; own < s.End && goOn && x.err == nil; own++ {
			in.compute(x, own, func(element T) bool {
				goOn = emit(element)
				return goOn
			})
		}
	})
}

// Repartition returns the elements in the given number of partitions, by a shuffle. An
// element's partition depends only on the element, so it is the same in each run.
func Repartition[T any](in *Of[T], partitions int) *Of[T] {
	if partitions < 1 {
		in.plan.reject("Repartition", errNoPartitions)
		partitions = 1
	}
	return exchanged(in, "Repartition", partitions)
}

// exchanged adds an operator that distributes elements among partitions by the hashes of
// their encodings.
func exchanged[T any](in *Of[T], operator string, partitions int) *Of[T] {
	values, err := record.CodecFor[T]()
	in.plan.reject(operator, err)
	n := &node{operator: operator, arguments: fmt.Sprintf("%d partitions", partitions), partitions: func(*layout) int { return partitions }}
	e := &exchange{node: n, input: in.node}
	e.write = func(x *taskContext, s span, out *shuffle.Writer) error {
		var encoded []byte
		return x.eachPartition(s, func(partition int) {
			in.compute(x, partition, func(element T) bool {
				var err error
				if encoded, err = values.Append(encoded[:0], element); err == nil {
					err = out.Add(partitionOf(record.Hash(encoded), partitions), nil, encoded)
				}
				return err == nil || x.fail(err)
			})
		})
	}
	n.shuffles = []*exchange{e}
	n.divisible = n.shuffles
	return newOf(in.plan, n, func(x *taskContext, partition int, emit func(T) bool) {
		x.fetch(e, partition, func(_, encoded []byte) error {
			element, err := values.Decode(encoded)
			if err == nil && !emit(element) {
				err = errEnough
			}
			return err
		})
		if x.err == errEnough {
			x.err = nil
		}
	})
}

// errEnough is returned to stop reading a shuffle when no more elements are needed. It does
// not fail the task.
var errEnough = errors.New("no more elements are needed")

// ZipWithIndex returns each element with its index as the key. The elements are counted
// from 0, partition by partition. If the order of the elements is not defined, as after a
// shuffle, their indexes can differ from run to run. To find the indexes, a job first
// counts the elements of each partition.
func ZipWithIndex[T any](in *Of[T]) *Of[KV[int64, T]] {
	n := &node{operator: "ZipWithIndex", inputs: []*node{in.node}, needsOffsets: true}
	return newOf(in.plan, n, func(x *taskContext, partition int, emit func(KV[int64, T]) bool) {
		offsets := x.layout.Offsets[n.ref()]
		next, end, goOn := offsets[partition], offsets[partition+1], true
		in.compute(x, partition, func(element T) bool {
			goOn = emit(KV[int64, T]{next, element})
			next++
			return goOn
		})
		if goOn && next != end && x.err == nil && !x.sampling {
			x.fail(permanentError{fmt.Errorf("%s: partition %d has %d elements, but had %d when they were counted: the operators before it must yield the same each time",
				n, partition, next-offsets[partition], end-offsets[partition])})
		}
	})
}
