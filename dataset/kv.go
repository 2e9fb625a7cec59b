package dataset

import (
	"reflect"

	"github.com/bobbin-yarn/bobbin/internal/record"
)

// KV is a key with a value. Keys can be strings, []byte, integers, floats, booleans, times,
// and structs and arrays of these.
type KV[K, V any] struct {
	Key   K
	Value V
}

// KeyBy returns each element with the key that f returns for it.
func KeyBy[T, K any](in *Of[T], f func(T) K) *Of[KV[K, T]] {
	return elementwise(in, "KeyBy", func(x *taskContext, partition int, emit func(KV[K, T]) bool) {
		in.compute(x, partition, func(element T) bool { return emit(KV[K, T]{f(element), element}) })
	})
}

// MapKV returns the key and value that f returns for each element.
func MapKV[T, K, V any](in *Of[T], f func(T) (K, V)) *Of[KV[K, V]] {
	return elementwise(in, "MapKV", func(x *taskContext, partition int, emit func(KV[K, V]) bool) {
		in.compute(x, partition, func(element T) bool {
			key, value := f(element)
			return emit(KV[K, V]{key, value})
		})
	})
}

// MapValues returns each key with f of its value.
func MapValues[K, V, W any](in *Of[KV[K, V]], f func(V) W) *Of[KV[K, W]] {
	mapped := elementwise(in, "MapValues", func(x *taskContext, partition int, emit func(KV[K, W]) bool) {
		in.compute(x, partition, func(element KV[K, V]) bool { return emit(KV[K, W]{element.Key, f(element.Value)}) })
	})
	mapped.node.hashed = in.node.hashed
	return mapped
}

// Keys returns the keys.
func Keys[K, V any](in *Of[KV[K, V]]) *Of[K] {
	return elementwise(in, "Keys", func(x *taskContext, partition int, emit func(K) bool) {
		in.compute(x, partition, func(element KV[K, V]) bool { return emit(element.Key) })
	})
}

// Values returns the values.
func Values[K, V any](in *Of[KV[K, V]]) *Of[V] {
	return elementwise(in, "Values", func(x *taskContext, partition int, emit func(V) bool) {
		in.compute(x, partition, func(element KV[K, V]) bool { return emit(element.Value) })
	})
}

// kvCodec encodes the keys and values of a data set.
type kvCodec[K, V any] struct {
	keys    *record.KeyCodec[K]
	values  *record.Codec[V]
	rawKeys bool // the bytes of a key are the key itself
}

// key returns the encoding of a key: the bytes of the key itself if it is a string or
// []byte, otherwise bytes in *buffer. If *buffer is too small, it is replaced by a larger one.
func (k kvCodec[K, V]) key(buffer *[]byte, key K) ([]byte, error) {
	encoded, err := k.keys.Bytes(*buffer, key)
	if !k.rawKeys {
		*buffer = encoded[:0]
	}
	return encoded, err
}

// kvCodecOf returns the codecs for KV[K, V]. If K cannot be a key, or V cannot be encoded,
// it makes the plan invalid.
func kvCodecOf[K, V any](p *Plan, operator string) kvCodec[K, V] {
	keys, err := record.KeyCodecFor[K]()
	p.reject(operator, err)
	values, err := record.CodecFor[V]()
	p.reject(operator, err)
	_, bytes := any((*K)(nil)).(*[]byte)
	return kvCodec[K, V]{keys, values, bytes || reflect.TypeFor[K]().Kind() == reflect.String}
}
