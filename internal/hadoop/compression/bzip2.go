package compression

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// A bzip2 stream consists of a header, blocks and a trailer. Each block and the trailer begin
// with a mark of 48 bits, which can begin at any bit of a byte. Each block can be decompressed
// without the others. By chance, other data equals a mark about once in 2^48 bits. The block
// that contains the data then appears to end there, and decoding it fails.
const (
	blockMark = 0x314159265359
	endMark   = 0x177245385090
	markBits  = 48
	// endBits is the size in bits of the stream's checksum, which follows endMark in the
	// trailer.
	endBits = 32
	// largestBlock is an upper limit of the size in bytes of a compressed block, which consists
	// of tables and at most 900,000 symbols of at most 20 bits.
	largestBlock = 4 << 20
)

// Bzip2Range decompresses the blocks of a bzip2 file that begin in a range of bytes, and then
// the blocks after the range.
type Bzip2Range struct {
	in       *bufio.Reader
	position int64  // offset in the file of the next byte to read from in
	end      int64  // offset in the file at which the range ends
	window   uint64 // the last 8 bytes that were read
	shortest int64  // the file is truncated if it ends before this offset

	inBlock bool   // whether the last mark is a blockMark
	block   []byte // within a block, the bytes from the last mark's first byte to the last byte that was read
	skip    int    // number of bits in block[0] before the last mark
	starts  int64  // offset of block[0] in the file

	content bzip2Block
}

// NewBzip2Range returns a reader of the blocks that begin in a file's bytes from offset to end,
// end excluded. r reads the file from offset to the file's end. NewBzip2Range fails if offset
// is 0 and the file is not in the format of bzip2.
func NewBzip2Range(r io.Reader, offset, end int64) (*Bzip2Range, error) {
	b := &Bzip2Range{in: bufio.NewReaderSize(r, 64<<10), position: offset, end: end, window: 1<<64 - 1}
	if offset > 0 {
		return b, nil
	}
	header, err := b.in.Peek(4)
	if err != nil {
		return nil, noEOF(err)
	}
	if !bytes.HasPrefix(header, []byte("BZh")) || header[3] < '1' || header[3] > '9' {
		return nil, errors.New("it is not in the format of bzip2")
	}
	b.shortest = math.MaxInt64 // the file must not end before its first mark
	return b, nil
}

// Next returns a reader of the next block's content, and reports whether the block begins in
// the range. The reader is valid until the next call. At the end of the file, Next returns
// io.EOF.
func (b *Bzip2Range) Next() (content io.Reader, inRange bool, err error) {
	for {
		size, mark, err := b.nextMark()
		if err != nil {
			return nil, false, err
		}
		decoded := b.inBlock
		if decoded {
			if err := b.content.decode(b.block, b.skip, size); err != nil {
				return nil, false, fmt.Errorf("the block of bzip2 that begins in byte %d: %w", b.starts, err)
			}
			inRange = b.starts < b.end
		}
		b.begin(size, mark)
		if decoded {
			return &b.content, inRange, nil
		}
	}
}

// markShifts speeds up the search for marks: one look-up excludes most positions. Bit s of
// markShifts[c] is set if the window's bits 16 to 23 equal c whenever a mark occupies the
// window's bits s to s+47.
var markShifts = func() (shifts [256]uint8) {
	for s := range 8 {
		for _, mark := range []uint64{blockMark, endMark} {
			shifts[byte(mark<<s>>16)] |= 1 << s
		}
	}
	return shifts
}()

// nextMark reads the file to the end of the next mark, and returns the mark. size is the
// number of bits in b.block before that mark.
func (b *Bzip2Range) nextMark() (size int, mark uint64, err error) {
	for {
		c, err := b.in.ReadByte()
		if err == io.EOF && (b.inBlock || b.position < b.shortest) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, 0, err
		}
		b.position++
		b.window = b.window<<8 | uint64(c)
		b.block = append(b.block, c)
		for shifts := markShifts[byte(b.window>>16)]; shifts != 0; shifts &= shifts - 1 {
			shift := bits.TrailingZeros8(shifts)
			mark := b.window >> shift & (1<<markBits - 1)
			if mark == blockMark || mark == endMark {
				b.shortest = b.position + int64(endBits-shift+7)/8
				return len(b.block)*8 - shift - markBits, mark, nil
			}
		}
		switch {
		case !b.inBlock && len(b.block) > 4096:
			b.block = append(b.block[:0], b.block[len(b.block)-8:]...)
		case len(b.block) > largestBlock:
			return 0, 0, fmt.Errorf("the block of bzip2 that begins in byte %d has no end", b.starts)
		}
	}
}

// begin records that the last mark is now the mark that nextMark has just found, and drops the
// bytes of b.block before that mark. size and mark are the results of nextMark.
func (b *Bzip2Range) begin(size int, mark uint64) {
	b.inBlock, b.skip = mark == blockMark, size%8
	b.block = append(b.block[:0], b.block[size/8:]...)
	b.starts = b.position - int64(len(b.block))
}

func openBzip2(r io.Reader) (io.Reader, func(), error) {
	blocks, err := NewBzip2Range(r, 0, math.MaxInt64)
	return &bzip2Stream{blocks: blocks, block: bytes.NewReader(nil)}, nil, err
}

// bzip2Stream reads the content of all blocks.
type bzip2Stream struct {
	blocks *Bzip2Range
	block  io.Reader // content of the current block
	err    error     // the error of blocks.Next
}

func (s *bzip2Stream) Read(p []byte) (int, error) {
	for s.err == nil {
		n, err := s.block.Read(p)
		if n > 0 || err != io.EOF {
			return n, err
		}
		s.block, _, s.err = s.blocks.Next()
	}
	return 0, s.err
}
