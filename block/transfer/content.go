package transfer

import "github.com/bobbin-yarn/bobbin/block"

// Content is the content of a block that a Server sends. A [block.Reader] is one.
type Content interface {
	// Size returns the block's size in bytes.
	Size() int64
	// ReadChunk fills p with the block's i-th chunk, counted from 0, and returns the
	// chunk's checksum. p has the length of the chunk.
	ReadChunk(i int64, p []byte) (checksum uint32, err error)
	// Release ends the use of the Content.
	Release()
}

// Open opens a block for a Server, which calls the Content's Release. If there is no such
// block, the error wraps block.ErrNotFound; peers get any other error as block.ErrDamaged.
// Several goroutines may call an Open at the same time.
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
