package dataset

import (
	"bytes"
	"reflect"
)

// Count returns each distinct element with the number of times that it occurs.
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

// Reduce merges the values of each key into one. It calls merge with two values at a time,
// in any order, so merge must be associative and commutative. merge may change and return
// its first argument.
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

// Fold folds the values of each key into an accumulator. fold adds a value to an
// accumulator, and merge merges two accumulators. The initial accumulator is the zero value
// of A. The order in which values and accumulators are combined is undefined. Both
// functions may change and return their first argument.
func Fold[K, V, A any](in *Of[KV[K, V]], fold func(A, V) A, merge func(A, A) A) *Of[KV[K, A]] {
	return aggregate(in.plan, "Fold", in.node, pairs(in), func(folded *A, value V, _ bool) { *folded = fold(*folded, value) }, merge)
}

func pairs[K, V any](in *Of[KV[K, V]]) func(x *taskContext, partition int, emit func(K, V) bool) {
	return func(x *taskContext, partition int, emit func(K, V) bool) {
		in.compute(x, partition, func(element KV[K, V]) bool { return emit(element.Key, element.Value) })
	}
}

// aggregation merges the values of each key: first in the tasks that write the shuffle, and
// then in the tasks that read it.
type aggregation[K, V, A any] struct {
	kvCodec[K, A]
	pairs func(x *taskContext, partition int, emit func(K, V) bool)
	add   func(merged *A, value V, first bool)
	merge func(A, A) A
	// batchable is true if values may be buffered until a batch is full: they contain no
	// pointers, so they cannot refer to memory that is overwritten before then.
	batchable bool
	// sharesMemory is true if a decoded A can share memory with its encoding.
	sharesMemory bool
}

// decode decodes a merged value. The result does not share memory with encoded.
func (a *aggregation[K, V, A]) decode(encoded []byte) (A, error) {
	if a.sharesMemory {
		encoded = bytes.Clone(encoded)
	}
	return a.values.Decode(encoded)
}

// aggregate adds an operator that merges the values of each key. The function each emits
// the keys and values of a partition of input.
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
