package dataset

import (
	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// If more than maxDistinctShare of the first minRecordsToCombine records have distinct
// keys, a combiner stops merging, because merging would save little.
const (
	minRecordsToCombine = 100_000
	maxDistinctShare    = 0.8
)

// write merges the values of each key in the partitions of the span s, and writes the merged
// values to the shuffle. If the keys do not all fit into memory, it writes several merged
// values for some keys.
func (a *aggregation[K, V, A]) write(x *taskContext, s span, out *shuffle.Writer) error {
	c := combiner[K, V, A]{aggregation: a, x: x, out: out, table: shuffle.NewTable[A](), heap: newHeapEstimate[A]()}
	defer c.table.Release()
	add := c.add
	if a.batchable {
		add = c.addToBatch
	}
	var buffer []byte
	x.eachPartition(s, func(partition int) {
		a.pairs(x, partition, func(key K, value V) bool {
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
	x        *taskContext
	out      *shuffle.Writer
	table    *shuffle.Table[A]
	heap     heapEstimate
	records  int
	disabled bool // merging has stopped; see maxDistinctShare
	encoded  []byte

	// The batch: records that have not been added to table yet. A batch makes lookups
	// faster, because the processor can wait for several cache misses in the table at the
	// same time.
	keys    []byte
	keyEnds []int
	hashes  []uint64
	values  []V
}

// maxBatchRecords and maxBatchKeyBytes, the total size of the keys, limit a batch. The last
// record may exceed maxBatchKeyBytes.
const (
	maxBatchRecords  = 256
	maxBatchKeyBytes = 8 << 10
)

// addToBatch adds a record to the batch. value must not refer to memory that the caller
// overwrites later.
func (c *combiner[K, V, A]) addToBatch(hash uint64, key []byte, value V) error {
	c.keys = append(c.keys, key...)
	c.keyEnds = append(c.keyEnds, len(c.keys))
	c.hashes = append(c.hashes, hash)
	c.values = append(c.values, value)
	if len(c.keyEnds) < maxBatchRecords && len(c.keys) < maxBatchKeyBytes {
		return nil
	}
	return c.addBatch()
}

// addBatch adds the records of the batch to the table, and empties the batch.
func (c *combiner[K, V, A]) addBatch() error {
	if !c.disabled {
		c.table.Prefetch(c.hashes)
	}
	start := 0
	for i, end := range c.keyEnds {
		if err := c.add(c.hashes[i], c.keys[start:end], c.values[i]); err != nil {
			return err
		}
		start = end
	}
	c.keys, c.keyEnds, c.hashes, c.values = c.keys[:0], c.keyEnds[:0], c.hashes[:0], c.values[:0]
	return nil
}

// add merges a value into the merged value of its key. If merging is disabled, it writes
// the value alone.
func (c *combiner[K, V, A]) add(hash uint64, key []byte, value V) error {
	if c.disabled {
		var single A
		c.aggregation.add(&single, value, true)
		return c.write(hash, key, single, c.out.Add)
	}
	merged, first := c.table.Upsert(hash, key)
	c.aggregation.add(merged, value, first)
	if c.records++; c.records == minRecordsToCombine && float64(c.table.Len()) > maxDistinctShare*minRecordsToCombine {
		c.disabled = true
		err := c.flush()
		c.table.Release() // the writer uses this memory from now on
		return err
	}
	if (first || !c.heap.noPointers) && tooLarge(c.table, &c.heap, c.x.operatorMemory) {
		return c.flush()
	}
	return nil
}

// write encodes a merged value, and passes it to add with its key and the key's partition.
func (c *combiner[K, V, A]) write(hash uint64, key []byte, merged A, add func(partition int, key, value []byte) error) (err error) {
	if c.encoded, err = c.aggregation.values.Append(c.encoded[:0], merged); err != nil {
		return err
	}
	return add(partitionOf(hash, c.x.layout.Partitions), key, c.encoded)
}

// flush writes all merged values, in the order of their hashes. This is also the order of
// their partitions, which AddOrdered requires.
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
	c.heap.reset()
	return err
}
