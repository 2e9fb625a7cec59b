package dataset

import (
	"bytes"
	"reflect"
)

// Count returns how often each element occurs.
func Count[K any](in *Of[K]) *Of[KV[K, int64]] {
	each := func(x *taskContext, partition int, emit func(K, struct{}) bool) {
		in.compute(x, partition, func(element K) bool { return emit(element, struct{}{}) })
	}
	return aggregate(in.plan, "Count", in.node, each, func(count *int64, _ struct{}, _ bool) { *count++ },
		func(count, other int64) int64 { return count + other })
}

// Distinct returns each element once.
func Distinct[K any](in *Of[K]) *Of[K] {
	each := func(x *taskContext, partition int, emit func(K, struct{}) bool) {
		in.compute(x, partition, func(element K) bool { return emit(element, struct{}{}) })
	}
	distinct := aggregate(in.plan, "Distinct", in.node, each, func(*struct{}, struct{}, bool) {},
		func(struct{}, struct{}) struct{} { return struct{}{} })
	return Keys(distinct)
}

// Reduce merges the values of each key, two at a time and in any order: merge must
// be associative and commutative. It may change and return its first argument.
func Reduce[K, V any](in *Of[KV[K, V]], merge func(V, V) V) *Of[KV[K, V]] {
	each := pairs(in)
	if kept := elementCopierOf[V](in.plan, "Reduce"); kept.mustCopy {
		values := each
		each = func(x *taskContext, partition int, emit func(K, V) bool) {
			values(x, partition, func(key K, value V) bool {
				value, err := kept.copy(value)
				return err == nil && emit(key, value) || err != nil && x.fail(err)
			})
		}
	}
	return aggregate(in.plan, "Reduce", in.node, each, func(merged *V, value V, first bool) {
		if first {
			*merged = value
		} else {
			*merged = merge(*merged, value)
		}
	}, merge)
}

// Fold folds the values of each key into an accumulator: fold adds a value to an
// accumulator, which begins as the zero value of A, and merge merges two
// accumulators, in any order. Both may change and return their first argument.
func Fold[K, V, A any](in *Of[KV[K, V]], fold func(A, V) A, merge func(A, A) A) *Of[KV[K, A]] {
	return aggregate(in.plan, "Fold", in.node, pairs(in), func(folded *A, value V, _ bool) { *folded = fold(*folded, value) }, merge)
}

func pairs[K, V any](in *Of[KV[K, V]]) func(x *taskContext, partition int, emit func(K, V) bool) {
	return func(x *taskContext, partition int, emit func(K, V) bool) {
		in.compute(x, partition, func(element KV[K, V]) bool { return emit(element.Key, element.Value) })
	}
}

// aggregation merges the values of each key, at first in the tasks that write the
// shuffle, then in those that read it.
type aggregation[K, V, A any] struct {
	kvCodec[K, A]
	pairs func(x *taskContext, partition int, emit func(K, V) bool)
	add   func(merged *A, value V, first bool)
	merge func(A, A) A
	// batchable is set if values can be kept for a batch, because they refer to no other
	// memory.
	batchable bool
	// sharesMemory is set if a decoded A can share memory with its encoding.
	sharesMemory bool
}

// decode decodes a merged value, which is kept longer than its encoding.
func (a *aggregation[K, V, A]) decode(encoded []byte) (A, error) {
	if a.sharesMemory {
		encoded = bytes.Clone(encoded)
	}
	return a.values.Decode(encoded)
}

// aggregate adds an operator that merges the values of each key that each emits for
// the partitions of input.
func aggregate[K, V, A any](p *Plan, operator string, input *node, each func(x *taskContext, partition int, emit func(K, V) bool),
	add func(merged *A, value V, first bool), merge func(A, A) A) *Of[KV[K, A]] {
	a := &aggregation[K, V, A]{
		kvCodec: kvCodecOf[K, A](p, operator), pairs: each, add: add, merge: merge,
		batchable: hasNoPointers(reflect.TypeFor[V]()), sharesMemory: hasBytes(reflect.TypeFor[A](), map[reflect.Type]bool{}),
	}
	n := &node{operator: operator, buffersElements: true}
	exchange := n.hashShuffle(input, a.write)
	return newOf(p, n, func(x *taskContext, partition int, emit func(KV[K, A]) bool) {
		if exchange == nil {
			a.mergeInput(x, partition, emit)
		} else {
			a.mergeShuffled(x, exchange, partition, emit)
		}
	})
}
