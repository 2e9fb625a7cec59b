package block

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// Reader reads a block. The block's bytes remain available until Release is called, even if
// the block is removed. A Reader is safe for concurrent use. After Release, no other method
// may be called.
type Reader struct {
	store   *Store
	block   *entry
	value   []byte   // the block's bytes, if file is nil
	file    *os.File // the block's file; nil if the block is in memory
	release sync.Once
}

// Open returns a reader of a block, which the caller must release. Open fails with ErrNotFound
// if the store has no block with this id, and with ErrDamaged if the block's file cannot be
// opened.
func (s *Store) Open(id ID) (*Reader, error) {
	s.mu.Lock()
	b := s.blocks[id]
	if b == nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("open block %s: %w", id, ErrNotFound)
	}
	s.pin(b)
	r := &Reader{store: s, block: b, value: b.value}
	inMemory, path := b.inMemory, b.path
	s.mu.Unlock()
	if !inMemory {
		file, err := os.Open(path)
		if err != nil {
			r.Release()
			return nil, fmt.Errorf("open block %s: %w: %w", id, ErrDamaged, err)
		}
		r.file = file
	}
	return r, nil
}

// Size returns the block's size in bytes.
func (r *Reader) Size() int64 { return r.block.size }

// ReadChunk fills p with the block's i-th chunk, counted from 0, and returns the checksum
// that Put computed for the chunk. p must have the length of the chunk. The errors are
// those of ReadAt.
func (r *Reader) ReadChunk(i int64, p []byte) (checksum uint32, err error) {
	if _, err := r.ReadAt(p, i*ChunkSize); err != nil {
		return 0, err
	}
	return r.block.checksums[i], nil
}

// ReadAt implements io.ReaderAt. It fails with ErrDamaged if the block's file cannot be
// read or the checksum of a chunk is wrong.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read block %s: negative offset %d", r.block.id, off)
	}
	off = min(off, r.block.size)
	n := int(min(int64(len(p)), r.block.size-off))
	if r.file == nil {
		copy(p, r.value[off:])
	} else if read, err := r.readFile(p[:n], off); err != nil {
		return read, err
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Bytes returns the block's bytes at the offsets from <= offset < to. The caller must not change
// the returned bytes. The errors are those of ReadAt.
func (r *Reader) Bytes(from, to int64) ([]byte, error) {
	if from < 0 || from > to || to > r.block.size {
		return nil, fmt.Errorf("read block %s: bytes %d to %d of %d", r.block.id, from, to, r.block.size)
	}
	if r.file == nil {
		return r.value[from:to:to], nil
	}
	content := make([]byte, to-from)
	if _, err := r.readFile(content, from); err != nil {
		return nil, err
	}
	return content, nil
}

// Release closes the reader. Further calls do nothing.
func (r *Reader) Release() {
	r.release.Do(func() {
		if r.file != nil {
			_ = r.file.Close() // an error loses no data, because the file was only read
		}
		r.store.mu.Lock()
		defer r.store.mu.Unlock()
		r.store.unpin(r.block)
	})
}

var chunks = sync.Pool{New: func() any { return new([ChunkSize]byte) }}

// readFile reads len(p) bytes of the block's file, from offset off, into p. It verifies the
// checksum of each chunk that it reads. off+len(p) must not exceed the block's size.
func (r *Reader) readFile(p []byte, off int64) (int, error) {
	buffer := chunks.Get().(*[ChunkSize]byte)
	defer chunks.Put(buffer)
	for done := 0; done < len(p); {
		chunk, skip := (off+int64(done))/ChunkSize, (off+int64(done))%ChunkSize
		content := buffer[:min(ChunkSize, r.block.size-chunk*ChunkSize)]
		if _, err := r.file.ReadAt(content, chunk*ChunkSize); err != nil {
			return done, fmt.Errorf("read block %s: %w: %s: %w", r.block.id, ErrDamaged, r.file.Name(), err)
		}
		if Checksum(content) != r.block.checksums[chunk] {
			return done, fmt.Errorf("read block %s: %w: %s holds other bytes than were written, from byte %d on",
				r.block.id, ErrDamaged, r.file.Name(), chunk*ChunkSize)
		}
		done += copy(p[done:], content[skip:])
	}
	return len(p), nil
}
