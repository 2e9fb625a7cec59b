package shuffle

// partitionBuffers are buffers for the frames of a Writer's records. A buffer has frames of
// one partition only, in the order in which they were added.
type partitionBuffers struct {
	slabs slabs
	size  int        // size of a buffer in bytes; a larger frame gets a buffer of the frame's size
	last  [][]byte   // by partition: the buffer that is being filled
	full  [][][]byte // by partition: the full buffers, which precede the buffer in last
}

const (
	minPartitionBuffer = 256
	maxPartitionBuffer = 16 << 10
)

// newPartitionBuffers returns a partitionBuffers without frames. It chooses the buffer size so
// that the buffers that are being filled, one for each partition, together take an eighth of the
// budget. The size is at least minPartitionBuffer and at most maxPartitionBuffer bytes.
func newPartitionBuffers(partitions int, budget int64) partitionBuffers {
	size := min(max(budget/8/int64(partitions), minPartitionBuffer), maxPartitionBuffer)
	return partitionBuffers{size: int(size), last: make([][]byte, partitions), full: make([][][]byte, partitions)}
}

// grow returns by how many bytes alloc would increase the memory that the buffers use.
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

func (c *partitionBuffers) empty() bool { return len(c.slabs.list) == 0 }

// write calls add for each buffer, in the order of the partitions.
func (c *partitionBuffers) write(add func(partition int, frames []byte) error) error {
	for partition, last := range c.last {
		for _, frames := range c.full[partition] {
			if err := add(partition, frames); err != nil {
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

func (c *partitionBuffers) free() {
	c.slabs.free()
	clear(c.last)
	clear(c.full)
}
