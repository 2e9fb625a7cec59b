package transfer

import "github.com/bobbin-yarn/bobbin/block"

// Content is the content of a block that a Server sends. [block.Reader] implements it.
type Content interface {
	// Size returns the block's size in bytes.
	Size() int64
	// ReadChunk fills p with the block's i-th chunk, counted from 0, and returns the chunk's
	// checksum. p must have the length of the chunk.
	ReadChunk(i int64, p []byte) (checksum uint32, err error)
	// Release frees the Content's resources. The Server calls it when the block is sent.
	Release()
}

// Open opens a block for a Server. The Server calls Release of the returned Content. If the
// block does not exist, the error must wrap block.ErrNotFound; the Server reports any other
// error to the peer as block.ErrDamaged. An Open must be safe for concurrent use.
type Open func(id block.ID) (Content, error)

// FromStore returns an Open that opens a store's blocks.
func FromStore(store *block.Store) Open {
	return func(id block.ID) (Content, error) {
		reader, err := store.Open(id)
		if err != nil {
			return nil, err
		}
		return reader, nil
	}
}
