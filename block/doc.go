// Package block stores blocks: byte slices with ids. An executor stores results that the
// driver has not yet fetched, the values that the tasks of a task set share, and cached
// partitions of data sets. It also stores an empty block for each key under which tasks
// hold data.
//
// A [Store] has a limit on memory. When it is exceeded, blocks that no reader has open
// leave memory, the least recently used first. A block's [Level] decides whether they move
// to a file or are dropped.
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
// The caller must not change bytes that it has put, or that [Reader.Bytes] returned. It
// must release each reader, and must close the store, which removes its files.
//
// Put computes a CRC32C for each [ChunkSize] bytes of a block. Reads from a file check it.
// When package transfer sends a block, the receiving peer checks it.
package block
