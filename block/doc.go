// Package block stores blocks: byte slices with ids. An executor stores task results that the
// driver has not yet fetched, the values that the tasks of a task set share (broadcasts), and
// cached partitions of data sets. For each key that tasks pass to bobbin.Task.Hold, it also
// stores an empty block (see [Held]).
//
// A [Store] has a memory limit. When the limit is exceeded, the store evicts blocks from
// memory, the least recently used first, except blocks that a reader has open. A block's
// [Level] determines whether an evicted block moves to a file or is dropped.
//
//	store := block.New(block.Options{Memory: 256 << 20, Directory: dir, Logger: logger})
//	defer store.Close()
//
//	err := store.Put(block.TaskResult(attempt), result, block.MemoryAndDisk)
//
//	reader, err := store.Open(block.TaskResult(attempt)) // pins the block
//	if err != nil {
//		return err // errors.Is(err, block.ErrNotFound)
//	}
//	defer reader.Release()
//	part, err := reader.Bytes(from, to)
//
//	store.Remove(block.TaskResult(attempt)) // freed when the last reader is released
//
// The caller must not change a byte slice that it has passed to [Store.Put], or that
// [Reader.Bytes] returned. It must release each reader, and must close the store, which
// removes the store's files.
//
// Put computes a CRC32C for each [ChunkSize] bytes of a block. Reads from a file verify the
// CRC32C. When package transfer sends a block, the receiving peer verifies it.
package block
