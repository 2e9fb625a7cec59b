// Package block stores blocks: bytes with an id. An executor stores results that
// the driver has yet to fetch, the shared values of task sets, cached partitions of
// data sets, and the keys of data that tasks hold.
//
// A [Store] has a limit on memory. Beyond it, the least recently used blocks that
// no reader has open leave memory. A block's [Level] decides whether they move to
// a file or are dropped.
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
// The caller must not change bytes that it has put or read, must release each
// reader, and must close the store, which removes its files.
//
// Put computes a CRC32C for each [ChunkSize] bytes of a block. Reads from a file
// check it, and so does package transfer at the receiving peer.
package block
