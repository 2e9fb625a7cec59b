package dataset

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/shuffle"
)

// SortWithinPartitions returns the elements of each partition in ascending order of their
// keys, without a shuffle. The order of elements with equal keys is not defined.
func SortWithinPartitions[K, V any](in *Of[KV[K, V]]) *Of[KV[K, V]] {
	pairs := kvCodecOf[K, V](in.plan, "SortWithinPartitions")
	n := &node{operator: "SortWithinPartitions", inputs: []*node{in.node}, buffersElements: true, hashed: in.node.hashed}
	return newOf(in.plan, n, func(x *taskContext, partition int, emit func(KV[K, V]) bool) {
		x.visitSorted(func(add func(key, value []byte) error) {
			eachPair(in, x, partition, pairs, func(_ KV[K, V], key, value []byte) error { return add(key, value) })
		}, pairs.emit(x, emit))
	})
}

// RepartitionAndSortWithinPartitions shuffles the elements into the given number of
// partitions, and sorts each partition in ascending order of the keys. partition returns
// the number of an element's partition, from 0. The order of elements with equal keys is
// not defined. Each task computes only one partition, so Save writes one file for each
// partition.
func RepartitionAndSortWithinPartitions[K, V any](in *Of[KV[K, V]], partitions int, partition func(element KV[K, V]) int) *Of[KV[K, V]] {
	const operator = "RepartitionAndSortWithinPartitions"
	if partitions < 1 {
		in.plan.reject(operator, errNoPartitions)
		partitions = 1
	}
	pairs := kvCodecOf[K, V](in.plan, operator)
	n := &node{operator: operator, arguments: fmt.Sprintf("%d partitions", partitions), buffersElements: true, oneTaskPerPartition: true,
		partitions: func(*layout) int { return partitions }}
	e := &exchange{node: n, input: in.node}
	e.write = func(x *taskContext, s span, out *shuffle.Writer) error {
		return x.eachPartition(s, func(own int) {
			eachPair(in, x, own, pairs, func(element KV[K, V], key, value []byte) error {
				to := partition(element)
				if to < 0 || to >= partitions {
					return permanentError{fmt.Errorf("the partition of an element is %d: want 0 to %d", to, partitions-1)}
				}
				return out.Add(to, key, value)
			})
		})
	}
	n.shuffles = []*exchange{e}
	return newOf(in.plan, n, func(x *taskContext, own int, emit func(KV[K, V]) bool) {
		x.visitSorted(func(add func(key, value []byte) error) { x.fetch(e, own, add) }, pairs.emit(x, emit))
	})
}

// eachPair calls visit with each element of a partition and the element's encoded key and
// value.
func eachPair[K, V any](in *Of[KV[K, V]], x *taskContext, partition int, pairs kvCodec[K, V], visit func(element KV[K, V], key, value []byte) error) {
	var buffer []byte
	in.compute(x, partition, func(element KV[K, V]) bool {
		key, value, err := pairs.pair(&buffer, element)
		if err == nil {
			err = visit(element, key, value)
		}
		return err == nil || x.fail(err)
	})
}

// emit returns a function that decodes an element and passes it to the argument emit.
func (k kvCodec[K, V]) emit(x *taskContext, emit func(KV[K, V]) bool) func(key, value []byte) bool {
	return func(key, value []byte) bool {
		element, err := k.decodePair(key, value)
		if err != nil {
			return x.fail(err)
		}
		return emit(element)
	}
}
