package dataset

import (
	"bytes"
	"slices"
	"sort"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// Sort returns the elements in ascending order: within each partition, and from each
// partition to the next. The type of elements must be one that can be a key; see [KV].
func Sort[T any](in *Of[T]) *Of[T] {
	keys := kvCodecOf[T, struct{}](in.plan, "Sort")
	return sorted(in, "Sort", func(buffer *[]byte, element T) (key, value []byte, err error) {
		key, err = keys.key(buffer, element)
		return key, nil, err
	}, func(key, _ []byte) (T, error) { return keys.keys.Decode(key) })
}

// SortByKey returns the elements in ascending order of their keys, over all partitions.
// The order of elements with equal keys is not defined.
func SortByKey[K, V any](in *Of[KV[K, V]]) *Of[KV[K, V]] {
	pairs := kvCodecOf[K, V](in.plan, "SortByKey")
	return sorted(in, "SortByKey", pairs.pair, pairs.decodePair)
}

// pair returns the encoded key and value of an element. Both are parts of *buffer. If
// *buffer is too small, it is replaced by a larger one.
func (k kvCodec[K, V]) pair(buffer *[]byte, element KV[K, V]) (key, value []byte, err error) {
	if key, err = k.keys.Append((*buffer)[:0], element.Key); err != nil {
		return nil, nil, err
	}
	end := len(key)
	if key, err = k.values.Append(key, element.Value); err != nil {
		return nil, nil, err
	}
	*buffer = key
	return key[:end], key[end:], nil
}

// decodePair returns the element with an encoded key and an encoded value.
func (k kvCodec[K, V]) decodePair(key, value []byte) (KV[K, V], error) {
	decoded, err := k.keys.Decode(key)
	if err != nil {
		return KV[K, V]{}, err
	}
	v, err := k.values.Decode(value)
	return KV[K, V]{decoded, v}, err
}

// SortBy returns the elements in ascending order of the keys that f returns, over
// all partitions. The order of elements with equal keys is not defined.
func SortBy[T, K any](in *Of[T], f func(T) K) *Of[T] { return sortBy(in, "SortBy", f, false) }

// SortByDescending returns the elements in descending order of the keys that f
// returns, over all partitions. The order of elements with equal keys is not
// defined.
func SortByDescending[T, K any](in *Of[T], f func(T) K) *Of[T] {
	return sortBy(in, "SortByDescending", f, true)
}

func sortBy[T, K any](in *Of[T], operator string, f func(T) K, descending bool) *Of[T] {
	keys := kvCodecOf[K, T](in.plan, operator)
	return sorted(in, operator, func(buffer *[]byte, element T) (key, value []byte, err error) {
		if key, err = keys.keys.Append((*buffer)[:0], f(element)); err != nil {
			return nil, nil, err
		}
		if descending {
			key = reversed(key)
		}
		end := len(key)
		if key, err = keys.values.Append(key, element); err != nil {
			return nil, nil, err
		}
		*buffer = key
		return key[:end], key[end:], nil
	}, func(_, value []byte) (T, error) { return keys.values.Decode(value) })
}

// reversed returns an encoding of key whose order is the opposite of the order of keys. It
// consists of the complement of key, in which each 0xff is followed by 0, and the
// terminator 0xff 0xff. Because of the terminator, a key sorts after longer keys that begin
// with it.
func reversed(key []byte) []byte {
	escaped := make([]byte, 0, len(key)+2)
	for _, b := range key {
		escaped = append(escaped, ^b)
		if b == 0 {
			escaped = append(escaped, 0)
		}
	}
	return append(escaped, 0xff, 0xff)
}

// sorted adds an operator that sorts elements by keys. encode returns the encoded key and
// value of an element, which may share memory with *buffer. decode is the inverse of
// encode.
func sorted[T any](in *Of[T], operator string, encode func(buffer *[]byte, element T) (key, value []byte, err error), decode func(key, value []byte) (T, error)) *Of[T] {
	n := &node{operator: operator, buffersElements: true}
	e := &exchange{node: n, input: in.node}
	n.shuffles = []*exchange{e}
	n.partitions = func(l *layout) int { return len(l.Bounds[e.id()]) + 1 }
	each := func(x *taskContext, partition int, add func(key, value []byte) error) {
		var buffer []byte
		in.compute(x, partition, func(element T) bool {
			key, value, err := encode(&buffer, element)
			if err == nil {
				err = add(key, value)
			}
			return err == nil || x.fail(err)
		})
	}
	e.sample = func(x *taskContext, partition int, emit func(key []byte) bool) {
		each(x, partition, func(key, _ []byte) error {
			if !emit(key) {
				return errSampled
			}
			return nil
		})
		if x.err == errSampled {
			x.err = nil
		}
	}
	e.write = func(x *taskContext, s span, out *shuffle.Writer) error {
		ranges := newRanges(x.layout.Bounds[e.id()])
		return x.eachPartition(s, func(partition int) {
			each(x, partition, func(key, value []byte) error { return out.Add(ranges.find(key), key, value) })
		})
	}
	return newOf(in.plan, n, func(x *taskContext, partition int, emit func(T) bool) {
		x.visitSorted(func(add func(key, value []byte) error) { x.fetch(e, partition, add) }, func(key, value []byte) bool {
			element, err := decode(key, value)
			if err != nil {
				return x.fail(err)
			}
			return emit(element)
		})
	})
}

// visitSorted calls read, sorts the records that read adds, and calls visit with each
// record in the order of keys, until visit returns false.
func (x *taskContext) visitSorted(read func(add func(key, value []byte) error), visit func(key, value []byte) bool) {
	sorter, err := x.sorter()
	if err != nil {
		x.fail(err)
		return
	}
	defer x.closeSorter(sorter)
	read(func(key, value []byte) error { return sorter.Add(record.Prefix(key), key, value) })
	if x.err != nil {
		return
	}
	for r, err := range sorter.All(x.task) {
		if err != nil {
			x.fail(err)
			return
		}
		if !visit(r.Key, r.Value) {
			return
		}
	}
}

// ranges finds the partition of a key. Partition i has the keys from bounds[i-1] to
// bounds[i], both included. So a key that equals a bound may be in several partitions, and
// successive calls of find return these in turn.
type ranges struct {
	bounds   [][]byte
	prefixes []uint64 // of the bounds
	turn     int      // counts the calls of find with a key that equals a bound
}

func newRanges(bounds [][]byte) *ranges {
	r := &ranges{bounds: bounds}
	for _, bound := range bounds {
		r.prefixes = append(r.prefixes, record.Prefix(bound))
	}
	return r
}

// find returns a partition that may have the key.
func (r *ranges) find(key []byte) int {
	prefix := record.Prefix(key)
	first, _ := slices.BinarySearch(r.prefixes, prefix)
	if first == len(r.prefixes) || r.prefixes[first] != prefix {
		return first
	}
	begin := first
	first += sort.Search(len(r.bounds)-begin, func(i int) bool { return bytes.Compare(r.bounds[begin+i], key) >= 0 })
	last := first
	for last < len(r.bounds) && bytes.Equal(r.bounds[last], key) {
		last++
	}
	if first == last {
		return first
	}
	r.turn++
	return first + r.turn%(last-first+1)
}

// boundsOf returns the bounds of n ranges that each have about the same number of the
// sampled keys.
func boundsOf(sampled [][]byte, n int) [][]byte {
	slices.SortFunc(sampled, bytes.Compare)
	var bounds [][]byte
	for i := 1; i < n && len(sampled) > 0; i++ {
		bounds = append(bounds, sampled[i*len(sampled)/n])
	}
	return bounds
}
