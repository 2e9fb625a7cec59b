package shuffle

import (
	"math/bits"
	"sync"
)

// Buffers of 1 KiB to 1 MiB are pooled. Their capacities are powers of two. There is a pool
// for each capacity.
const (
	minSizeClass = 10
	maxSizeClass = 20
)

var bufferPools [maxSizeClass - minSizeClass + 1]sync.Pool

// getBuffer returns a buffer of n bytes with arbitrary content. Its capacity is the smallest
// pooled capacity that is at least n, or exactly n if n exceeds all pooled capacities.
func getBuffer(n int) []byte {
	class := max(bits.Len(uint(max(n, 1)-1)), minSizeClass)
	if class > maxSizeClass {
		return make([]byte, n)
	}
	if pooled, ok := bufferPools[class-minSizeClass].Get().(*[]byte); ok {
		return (*pooled)[:n]
	}
	return make([]byte, n, 1<<class)
}

// putBuffer returns a buffer to the pool of its capacity. If there is no such pool, it leaves
// the buffer to the garbage collector. The caller must not use the buffer afterwards.
func putBuffer(buffer []byte) {
	class := bits.Len(uint(cap(buffer))) - 1
	if class < minSizeClass || class > maxSizeClass || cap(buffer) != 1<<class {
		return
	}
	bufferPools[class-minSizeClass].Put(&buffer)
}

// bufferSize returns the capacity of the buffer that getBuffer(n) returns.
func bufferSize(n int) int64 {
	class := max(bits.Len(uint(max(n, 1)-1)), minSizeClass)
	if class > maxSizeClass {
		return int64(n)
	}
	return 1 << class
}

const (
	slabSize  = 1 << maxSizeClass
	firstSlab = 64 << 10 // size of the first slab; each next one is twice as large, up to slabSize
)

// slabs allocates pieces of memory, which can only be freed all at once. A piece is a part of
// a slab. A slab is a buffer from getBuffer, of firstSlab to slabSize bytes. A piece that does
// not fit into the next slab gets a slab of its own size. A piece does not move. The zero
// value is ready for use.
type slabs struct {
	list  [][]byte // the slabs; the length of each is its capacity
	used  int      // number of bytes that are in use in the last slab
	bytes int64    // sum of the slabs' sizes
}

// position is where a piece begins: the slab's index in the upper 32 bits, the offset in the
// slab in the lower 32 bits.
type position uint64

func (p position) slab() int   { return int(p >> 32) }
func (p position) offset() int { return int(uint32(p)) }

// grow returns the number of bytes by which alloc(n) would increase s.bytes.
func (s *slabs) grow(n int) int64 {
	if len(s.list) > 0 && n <= len(s.list[len(s.list)-1])-s.used {
		return 0
	}
	return bufferSize(max(n, min(firstSlab<<min(len(s.list), maxSizeClass), slabSize)))
}

// alloc returns n bytes with arbitrary content, and their position.
func (s *slabs) alloc(n int) (position, []byte) {
	if size := s.grow(n); size > 0 {
		slab := getBuffer(int(size))
		s.list = append(s.list, slab)
		s.used = 0
		s.bytes += size
	}
	last := len(s.list) - 1
	at := position(last)<<32 | position(s.used)
	piece := s.list[last][s.used : s.used+n : s.used+n]
	s.used += n
	return at, piece
}

// from returns the bytes from a position to the end of its slab.
func (s *slabs) from(at position) []byte { return s.list[at.slab()][at.offset():] }

func (s *slabs) free() {
	for _, slab := range s.list {
		putBuffer(slab)
	}
	*s = slabs{list: s.list[:0]}
	clear(s.list[:cap(s.list)])
}
