package dataset

import (
	"bytes"
	"reflect"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// Count returns how often each element occurs.
func Count[K any](in *Of[K]) *Of[KV[K, int64]] {
	each := func(x *execution, partition int, emit func(K, struct{}) bool) {
		in.each(x, partition, func(element K) bool { return emit(element, struct{}{}) })
	}
	return aggregate(in.plan, "Count", in.node, each, func(count *int64, _ struct{}, _ bool) { *count++ },
		func(count, other int64) int64 { return count + other })
}

// Distinct returns each element once.
func Distinct[K any](in *Of[K]) *Of[K] {
	each := func(x *execution, partition int, emit func(K, struct{}) bool) {
		in.each(x, partition, func(element K) bool { return emit(element, struct{}{}) })
	}
	distinct := aggregate(in.plan, "Distinct", in.node, each, func(*struct{}, struct{}, bool) {},
		func(struct{}, struct{}) struct{} { return struct{}{} })
	return Keys(distinct)
}

// Reduce merges the values of each key, two at a time and in any order: merge must
// be associative and commutative. It may change and return its first argument.
func Reduce[K, V any](in *Of[KV[K, V]], merge func(V, V) V) *Of[KV[K, V]] {
	each := pairs(in)
	if kept := keeperOf[V](in.plan, "Reduce"); kept.copies {
		values := each
		each = func(x *execution, partition int, emit func(K, V) bool) {
			values(x, partition, func(key K, value V) bool {
				value, err := kept.keep(value)
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

func pairs[K, V any](in *Of[KV[K, V]]) func(x *execution, partition int, emit func(K, V) bool) {
	return func(x *execution, partition int, emit func(K, V) bool) {
		in.each(x, partition, func(element KV[K, V]) bool { return emit(element.Key, element.Value) })
	}
}

// aggregation merges the values of each key, at first in the tasks that write the
// shuffle, then in those that read it.
type aggregation[K, V, A any] struct {
	keyed[K, A]
	each  func(x *execution, partition int, emit func(K, V) bool)
	add   func(merged *A, value V, first bool)
	merge func(A, A) A
	// batched is set if values can be kept for a batch, because they refer to no other
	// memory.
	batched bool
	// copies is set if a decoded A can share memory with its encoding.
	copies bool
}

// decode decodes a merged value, which is kept longer than its encoding.
func (a *aggregation[K, V, A]) decode(encoded []byte) (A, error) {
	if a.copies {
		encoded = bytes.Clone(encoded)
	}
	return a.values.Decode(encoded)
}

// aggregate adds an operator that merges the values of each key that each emits for
// the partitions of input.
func aggregate[K, V, A any](p *Plan, operator string, input *node, each func(x *execution, partition int, emit func(K, V) bool),
	add func(merged *A, value V, first bool), merge func(A, A) A) *Of[KV[K, A]] {
	a := &aggregation[K, V, A]{
		keyed: keyedBy[K, A](p, operator), each: each, add: add, merge: merge,
		batched: isPlain(reflect.TypeFor[V]()), copies: hasBytes(reflect.TypeFor[A](), map[reflect.Type]bool{}),
	}
	n := &node{operator: operator, blocking: true}
	exchange := n.hashShuffle(input, a.write)
	return newOf(p, n, func(x *execution, partition int, emit func(KV[K, A]) bool) {
		if exchange == nil {
			a.mergeInput(x, partition, emit)
		} else {
			a.mergeShuffled(x, exchange, partition, emit)
		}
	})
}

// isPlain reports whether values of a type refer to no other memory.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return isPlain(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !isPlain(t.Field(i).Type) {
				return false
			}
		}
		return true
	default:
		return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
	}
}

// Combining before the shuffle stops if, after minCombined records, more than
// maxDistinct of them had a key of their own.
const (
	minCombined = 100_000
	maxDistinct = 0.8
)

// write merges the values of each key as far as memory allows, and writes the
// merged values to the shuffle.
func (a *aggregation[K, V, A]) write(x *execution, s span, out *shuffle.Writer) error {
	c := combiner[K, V, A]{aggregation: a, x: x, out: out, table: shuffle.NewTable[A]()}
	defer c.table.Release()
	add := c.add
	if a.batched {
		add = c.batch
	}
	var buffer []byte
	x.over(s, func(partition int) {
		a.each(x, partition, func(key K, value V) bool {
			bytes, err := a.key(&buffer, key)
			if err == nil {
				err = add(record.Hash(bytes), bytes, value)
			}
			return err == nil || x.fail(err)
		})
	})
	if x.err != nil {
		return x.err
	}
	if err := c.addBatch(); err != nil {
		return err
	}
	return c.flush()
}

// combiner merges values before a shuffle.
type combiner[K, V, A any] struct {
	*aggregation[K, V, A]
	x       *execution
	out     *shuffle.Writer
	table   *shuffle.Table[A]
	records int
	off     bool // values are not merged any more
	encoded []byte

	// A batch of records that are to be added. Looking up many keys together is
	// faster, because the processor then waits for several parts of the table at
	// once.
	keys   []byte
	ends   []int
	hashes []uint64
	values []V
}

// maxBatch is the largest number of records in a batch, and maxBatchBytes about the
// largest size of their keys.
const (
	maxBatch      = 256
	maxBatchBytes = 8 << 10
)

// batch adds a record to the batch. V must not refer to memory that the caller uses
// again.
func (c *combiner[K, V, A]) batch(hash uint64, key []byte, value V) error {
	c.keys = append(c.keys, key...)
	c.ends = append(c.ends, len(c.keys))
	c.hashes = append(c.hashes, hash)
	c.values = append(c.values, value)
	if len(c.ends) < maxBatch && len(c.keys) < maxBatchBytes {
		return nil
	}
	return c.addBatch()
}

// addBatch adds the records of the batch.
func (c *combiner[K, V, A]) addBatch() error {
	if !c.off {
		c.table.Prefetch(c.hashes)
	}
	start := 0
	for i, end := range c.ends {
		if err := c.add(c.hashes[i], c.keys[start:end], c.values[i]); err != nil {
			return err
		}
		start = end
	}
	c.keys, c.ends, c.hashes, c.values = c.keys[:0], c.ends[:0], c.hashes[:0], c.values[:0]
	return nil
}

// add merges a value into that of its key, or writes it.
func (c *combiner[K, V, A]) add(hash uint64, key []byte, value V) error {
	if c.off {
		var single A
		c.aggregation.add(&single, value, true)
		return c.write(hash, key, single, c.out.Add)
	}
	merged, first := c.table.Upsert(hash, key)
	c.aggregation.add(merged, value, first)
	if c.records++; c.records == minCombined && float64(c.table.Len()) > maxDistinct*minCombined {
		c.off = true
		err := c.flush()
		c.table.Release() // its memory is the writer's now
		return err
	}
	if first && c.table.Bytes() > c.x.memory {
		return c.flush()
	}
	return nil
}

// write passes a key with its merged value to add.
func (c *combiner[K, V, A]) write(hash uint64, key []byte, merged A, add func(partition int, key, value []byte) error) (err error) {
	if c.encoded, err = c.aggregation.values.Append(c.encoded[:0], merged); err != nil {
		return err
	}
	return add(partitionOf(hash, c.x.layout.Partitions), key, c.encoded)
}

// flush writes all merged values, sorted by hash. That sorts them by partition too, as
// AddOrdered requires.
func (c *combiner[K, V, A]) flush() error {
	if c.table.Len() == 0 {
		return nil
	}
	err := c.out.AddOrdered(func(add func(partition int, key, value []byte) error) error {
		for entry := range c.table.SortedByHash() {
			if err := c.write(entry.Hash, entry.Key, *entry.Value, add); err != nil {
				return err
			}
		}
		return nil
	})
	c.table.Reset()
	return err
}

// mergeInput merges the values of a partition of an input that is partitioned by
// key.
func (a *aggregation[K, V, A]) mergeInput(x *execution, partition int, emit func(KV[K, A]) bool) {
	merger := newMerger(a, x)
	defer merger.close()
	var buffer []byte
	a.each(x, partition, func(key K, value V) bool {
		bytes, err := a.key(&buffer, key)
		if err == nil {
			merged, first := merger.table.Upsert(record.Hash(bytes), bytes)
			a.add(merged, value, first)
			err = merger.limit()
		}
		return err == nil || x.fail(err)
	})
	merger.emit(emit)
}

// mergeShuffled merges the merged values that the tasks of the previous stage have
// written.
func (a *aggregation[K, V, A]) mergeShuffled(x *execution, e *exchange, partition int, emit func(KV[K, A]) bool) {
	merger := newMerger(a, x)
	defer merger.close()
	x.fetch(e, partition, func(key, encoded []byte) error {
		value, err := a.decode(encoded)
		if err != nil {
			return err
		}
		merged, first := merger.table.Upsert(record.Hash(key), key)
		if first {
			*merged = value
		} else {
			*merged = a.merge(*merged, value)
		}
		return merger.limit()
	})
	merger.emit(emit)
}

// merger merges the values of one partition: in a table, and in a sorter when the
// table has become too large.
type merger[K, V, A any] struct {
	*aggregation[K, V, A]
	x       *execution
	table   *shuffle.Table[A]
	spilled *shuffle.Sorter // nil before the first spill
}

func newMerger[K, V, A any](a *aggregation[K, V, A], x *execution) *merger[K, V, A] {
	return &merger[K, V, A]{aggregation: a, x: x, table: shuffle.NewTable[A]()}
}

func (m *merger[K, V, A]) close() {
	m.table.Release()
	if m.spilled != nil {
		m.x.closeSorter(m.spilled)
	}
}

// limit spills the table if it has become too large.
func (m *merger[K, V, A]) limit() error {
	if m.table.Bytes() <= m.x.memory {
		return nil
	}
	return m.spill()
}

func (m *merger[K, V, A]) spill() (err error) {
	if m.spilled == nil {
		if m.spilled, err = m.x.sorter(); err != nil {
			return err
		}
	}
	var encoded []byte
	for key, merged := range m.table.All() {
		if encoded, err = m.values.Append(encoded[:0], *merged); err != nil {
			return err
		}
		if err = m.spilled.Add(record.Hash(key), key, encoded); err != nil {
			return err
		}
	}
	m.table.Reset()
	return nil
}

// emit emits each key with its merged value.
func (m *merger[K, V, A]) emit(emit func(KV[K, A]) bool) {
	if m.x.err != nil {
		return
	}
	if m.spilled == nil {
		// In insertion order, the output would depend on the order in which sections were
		// fetched.
		for entry := range m.table.SortedByHash() {
			key, err := m.keys.Decode(entry.Key)
			if err != nil {
				m.x.fail(err)
				return
			}
			if !emit(KV[K, A]{key, *entry.Value}) {
				return
			}
		}
		return
	}
	if err := m.spill(); err != nil {
		m.x.fail(err)
		return
	}
	sorted := newSortedGroups(m.x, m.spilled)
	for sorted.nextGroup() {
		key, err := m.keys.Decode(sorted.key)
		if err != nil {
			m.x.fail(err)
			return
		}
		var merged A
		first := true
		for encoded := range sorted.values {
			value, err := m.decode(encoded)
			if err != nil {
				m.x.fail(err)
				return
			}
			if first {
				merged, first = value, false
			} else {
				merged = m.merge(merged, value)
			}
		}
		if m.x.err != nil || !emit(KV[K, A]{key, merged}) {
			return
		}
	}
}
