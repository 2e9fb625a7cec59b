package dataset

import (
	"bytes"
	"cmp"
	"iter"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// Group returns each key with its values, in any order. The values of a key are read one
// after the other, so they may be larger than memory. A function that receives such an
// element can read the values only once, and only before it returns.
func Group[K, V any](in *Of[KV[K, V]]) *Of[KV[K, iter.Seq[V]]] {
	return group(in, "Group")
}

// GroupInParts is like Group, but can return a key several times, each time with some of
// its values. If a key has so many values that its partition is skewed, several tasks each
// read the outputs of some map tasks, and each task returns the keys that it reads. Each
// value is returned once. How many parts there are can differ from action to action.
// Partitions are divided only if operators that process each element independently, such as
// MapValues and Filter, follow in the stage.
//
// To merge what is computed from the parts, use [Reduce], for example. This needs a shuffle,
// as the result is not partitioned by key.
func GroupInParts[K, V any](in *Of[KV[K, V]]) *Of[KV[K, iter.Seq[V]]] {
	parts := group(in, "GroupInParts")
	parts.node.divisible = parts.node.shuffles
	// If it shuffles, Reduce after it must too: in the same stage, it would prevent the division.
	parts.node.hashed = len(parts.node.shuffles) == 0
	return parts
}

func group[K, V any](in *Of[KV[K, V]], operator string) *Of[KV[K, iter.Seq[V]]] {
	n := &node{operator: operator, buffersElements: true}
	side := newKeyedInput(n, in)
	return newOf(in.plan, n, func(x *taskContext, partition int, emit func(KV[K, iter.Seq[V]]) bool) {
		sorted, ok := side.sort(x, partition)
		if !ok {
			return
		}
		defer sorted.close()
		for sorted.nextGroup() {
			key, err := side.keys.Decode(sorted.key)
			if err != nil {
				x.fail(err)
				return
			}
			if !emit(KV[K, iter.Seq[V]]{key, decoded(x, side.values, sorted.values)}) {
				return
			}
		}
	})
}

// decoded yields decoded values. If a value cannot be decoded, decoded fails the task and
// ends the sequence.
func decoded[V any](x *taskContext, codec *record.Codec[V], values iter.Seq[[]byte]) iter.Seq[V] {
	return func(yield func(V) bool) {
		for encoded := range values {
			value, err := codec.Decode(encoded)
			if err != nil {
				x.fail(err)
				return
			}
			if !yield(value) {
				return
			}
		}
	}
}

// sort sorts the records of a partition by the hashes of their keys, and by keys with equal
// hashes. If that fails, sort fails the task and returns false. Otherwise the caller must
// call sorted.close.
func (side *keyedInput[K, V]) sort(x *taskContext, partition int) (sorted *sortedGroups, ok bool) {
	sorter, err := x.sorter()
	if err != nil {
		return nil, x.fail(err)
	}
	side.records(x, partition, func(key, value []byte) error { return sorter.Add(record.Hash(key), key, value) })
	if x.err != nil {
		x.closeSorter(sorter)
		return nil, false
	}
	return newSortedGroups(x, sorter), true
}

// sortedGroups reads the records of a sorter, grouped by key. Its methods refer to the
// current group; nextGroup advances to the next one.
type sortedGroups struct {
	x      *taskContext
	sorter *shuffle.Sorter
	record shuffle.Record // the next record
	more   bool           // set if there is a next record

	hash uint64 // hash of the current group's key
	key  []byte // the current group's key, encoded; nil before the first group
}

func newSortedGroups(x *taskContext, sorter *shuffle.Sorter) *sortedGroups {
	s := &sortedGroups{x: x, sorter: sorter}
	if err := sorter.Read(x.task); err != nil {
		x.fail(err)
		return s
	}
	s.advance()
	return s
}

func (s *sortedGroups) close() {
	s.x.closeSorter(s.sorter)
}

func (s *sortedGroups) advance() {
	var err error
	if s.record, s.more, err = s.sorter.Next(); err != nil {
		s.more = s.x.fail(err)
	}
}

// compare compares the current group's key with another key in the order in which groups
// are read, like cmp.Compare.
func (s *sortedGroups) compare(hash uint64, key []byte) int {
	return cmp.Or(cmp.Compare(s.hash, hash), bytes.Compare(s.key, key))
}

// inGroup reports whether the next record belongs to the current group.
func (s *sortedGroups) inGroup() bool {
	return s.more && s.record.Prefix == s.hash && string(s.record.Key) == string(s.key)
}

// nextGroup skips the unread values of the current group and advances to the next group. It
// returns false if there is no next group, or after an error.
func (s *sortedGroups) nextGroup() bool {
	for s.key != nil && s.inGroup() {
		s.advance()
	}
	if !s.more || s.x.err != nil {
		return false
	}
	s.hash, s.key = s.record.Prefix, append(append(s.key[:0], s.record.Key...), 0)
	s.key = s.key[:len(s.key)-1] // not nil, even if the key is empty
	return true
}

// values yields the values of the current group that have not been read yet.
func (s *sortedGroups) values(yield func([]byte) bool) {
	for s.inGroup() {
		goOn := yield(s.record.Value)
		s.advance()
		if !goOn {
			return
		}
	}
}
