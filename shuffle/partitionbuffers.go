package shuffle

// partitionBuffers are the frames of a Writer's records in memory, by partition: those of a
// partition follow each other in chunks, in the order in which they were added.
type partitionBuffers struct {
	slabs slabs
	size  int        // of a chunk; a larger frame has a chunk of its own
	last  [][]byte   // of each partition: the chunk that is being filled
	full  [][][]byte // of each partition: the chunks before
}

const (
	minChunk = 256
	maxChunk = 16 << 10
)

// newPartitionBuffers returns chunks without a frame. If each partition has one chunk, these take
// an eighth of the budget, as far as minChunk and maxChunk allow.
func newPartitionBuffers(partitions int, budget int64) partitionBuffers {
	size := min(max(budget/8/int64(partitions), minChunk), maxChunk)
	return partitionBuffers{size: int(size), last: make([][]byte, partitions), full: make([][][]byte, partitions)}
}

// grow returns the number of bytes of memory that alloc would add.
func (c *partitionBuffers) grow(partition, size int) int64 {
	if last := c.last[partition]; size <= cap(last)-len(last) {
		return 0
	}
	return c.slabs.grow(max(size, c.size))
}

// alloc returns memory for a frame of a partition.
func (c *partitionBuffers) alloc(partition, size int) []byte {
	last := c.last[partition]
	if size > cap(last)-len(last) {
		if last != nil {
			c.full[partition] = append(c.full[partition], last)
		}
		_, piece := c.slabs.alloc(max(size, c.size))
		last = piece[:0]
	}
	begin := len(last)
	last = last[:begin+size]
	c.last[partition] = last
	return last[begin:]
}

// empty reports whether there are no frames.
func (c *partitionBuffers) empty() bool { return len(c.slabs.list) == 0 }

// write passes the chunks to add, in the order of their partitions.
func (c *partitionBuffers) write(add func(partition int, frames []byte) error) error {
	for partition, last := range c.last {
		for _, chunk := range c.full[partition] {
			if err := add(partition, chunk); err != nil {
				return err
			}
		}
		if last != nil {
			if err := add(partition, last); err != nil {
				return err
			}
		}
	}
	return nil
}

// free removes all frames.
func (c *partitionBuffers) free() {
	c.slabs.free()
	clear(c.last)
	clear(c.full)
}
