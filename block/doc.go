// Package block keeps blocks: bytes under an id that an executor holds for
// others. Results that wait to be fetched are blocks, as are the values that
// task sets share and the keys that tasks hold.
//
// A [Store] has a limit on the memory that its blocks take. A block's [Level]
// says what happens beyond the limit: the least recently used blocks that no
// reader has open leave memory, for a file or, where their level has no disk,
// for good.
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
//	store.Remove(block.TaskResult(attempt)) // goes when the last reader releases it
//
// The caller's duties are few: it does not change bytes that it has put or was
// given, releases each reader, and closes the store, which removes its files.
//
// Every block has a CRC32C for each [ChunkSize] of its bytes, made when it is
// put. Reads from a file are checked against them, and package transfer checks
// what arrives at a peer.
package block
