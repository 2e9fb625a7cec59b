package dataset

import (
	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// mergeInput merges the values of a partition of an input that is already partitioned by
// key, and therefore not shuffled.
func (a *aggregation[K, V, A]) mergeInput(x *taskContext, partition int, emit func(KV[K, A]) bool) {
	merger := newMerger(a, x)
	defer merger.close()
	var buffer []byte
	a.pairs(x, partition, func(key K, value V) bool {
		bytes, err := a.key(&buffer, key)
		if err == nil {
			merged, first := merger.table.Upsert(record.Hash(bytes), bytes)
			a.add(merged, value, first)
			err = merger.spillIfLarge()
		}
		return err == nil || x.fail(err)
	})
	merger.emit(emit)
}

// mergeShuffled merges the values of a partition of a shuffle. These values are encoded
// accumulators: the tasks that wrote the shuffle have merged values before; see
// aggregation.write.
func (a *aggregation[K, V, A]) mergeShuffled(x *taskContext, e *exchange, partition int, emit func(KV[K, A]) bool) {
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
		return merger.spillIfLarge()
	})
	merger.emit(emit)
}

// merger merges the values of one partition in a table. When the table is too large, the
// merger moves its entries to a sorter.
type merger[K, V, A any] struct {
	*aggregation[K, V, A]
	x       *taskContext
	table   *shuffle.Table[A]
	heap    heapEstimate
	spilled *shuffle.Sorter // nil before the first spill
}

func newMerger[K, V, A any](a *aggregation[K, V, A], x *taskContext) *merger[K, V, A] {
	return &merger[K, V, A]{aggregation: a, x: x, table: shuffle.NewTable[A](), heap: newHeapEstimate[A]()}
}

func (m *merger[K, V, A]) close() {
	m.table.Release()
	if m.spilled != nil {
		m.x.closeSorter(m.spilled)
	}
}

// spillIfLarge moves the entries of the table to the sorter if the table exceeds the
// operator's memory.
func (m *merger[K, V, A]) spillIfLarge() error {
	if tooLarge(m.table, &m.heap, m.x.operatorMemory) {
		return m.spill()
	}
	return nil
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
	m.heap.reset()
	return nil
}

// emit emits each key with its merged value.
func (m *merger[K, V, A]) emit(emit func(KV[K, A]) bool) {
	if m.x.err != nil {
		return
	}
	if m.spilled == nil {
		// The order of hashes does not depend on the order in which the shuffle's records
		// arrive.
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
