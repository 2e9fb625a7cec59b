package shuffle

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/bobbin-yarn/bobbin/block"
)

// blockSize is the largest number of bytes of frames in a block. A frame that is larger is
// alone in its block.
const blockSize = 256 << 10

// A block's header has four big-endian numbers: the CRC32C of all bytes of the block after
// these four bytes, the number of bytes of the uncompressed frames (the raw size), the number
// of bytes stored after the header, and the codec.
const (
	headerSize       = 13
	rawSizeOffset    = 4
	storedSizeOffset = 8
	codecOffset      = 12
)

// Codecs of blocks.
const (
	codecNone = 0
	codecS2   = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendBlock appends a block of frames to encoded. If compress is true and that saves at least a
// quarter, the frames are compressed.
func appendBlock(encoded, frames []byte, compress bool) []byte {
	begin := len(encoded)
	body := begin + headerSize
	encoded = slices.Grow(encoded, headerSize+max(s2.MaxEncodedLen(len(frames)), len(frames)))
	var stored []byte
	if compress {
		stored = s2.Encode(encoded[body:cap(encoded)], frames)
	}
	codec := byte(codecS2)
	if !compress || len(stored) > len(frames)-len(frames)/4 {
		codec = codecNone
		stored = encoded[body : body+copy(encoded[body:cap(encoded)], frames)]
	}
	encoded = encoded[:body+len(stored)]
	header := encoded[begin:body]
	binary.BigEndian.PutUint32(header[rawSizeOffset:], uint32(len(frames)))
	binary.BigEndian.PutUint32(header[storedSizeOffset:], uint32(len(stored)))
	header[codecOffset] = codec
	binary.BigEndian.PutUint32(header, crc32.Checksum(encoded[begin+rawSizeOffset:], castagnoli))
	return encoded
}

type header struct {
	encoded             [headerSize]byte
	rawSize, storedSize int
	codec               byte
}

// parseHeader parses a block's header. left is the number of bytes that follow the header in
// the file or section, and so an upper limit for the stored bytes.
func parseHeader(encoded *[headerSize]byte, left int64) (header, error) {
	h := header{*encoded, int(binary.BigEndian.Uint32(encoded[rawSizeOffset:])), int(binary.BigEndian.Uint32(encoded[storedSizeOffset:])), encoded[codecOffset]}
	switch {
	case h.codec > codecS2:
		return h, fmt.Errorf("%w: its compression has the unknown kind %d", block.ErrDamaged, h.codec)
	case h.rawSize == 0 || h.rawSize > maxRecord:
		return h, fmt.Errorf("%w: its raw length is %d", block.ErrDamaged, h.rawSize)
	case h.storedSize == 0 || h.storedSize > h.rawSize || h.codec == codecNone && h.storedSize != h.rawSize:
		return h, fmt.Errorf("%w: its stored length is %d, its raw length %d", block.ErrDamaged, h.storedSize, h.rawSize)
	case int64(h.storedSize) > left:
		return h, fmt.Errorf("%w: its stored length is %d, but only %d bytes follow", block.ErrDamaged, h.storedSize, left)
	}
	return h, nil
}

// check returns an error unless the checksum in the header matches the rest of the header and
// the stored bytes.
func (h *header) check(stored []byte) error {
	want := binary.BigEndian.Uint32(h.encoded[:])
	if got := crc32.Update(crc32.Checksum(h.encoded[rawSizeOffset:], castagnoli), castagnoli, stored); got != want {
		return fmt.Errorf("%w: its checksum is %08x, but should be %08x", block.ErrDamaged, got, want)
	}
	return nil
}

// decode returns the records of a block. The caller must have verified the block's checksum.
// decode decompresses into *raw, and replaces *raw by a larger buffer if necessary. The
// records are valid until stored or *raw is overwritten.
func (h *header) decode(stored []byte, raw *[]byte) (Records, error) {
	frames := stored
	if h.codec == codecS2 {
		if n, err := s2.DecodedLen(stored); err != nil || n != h.rawSize {
			return Records{}, fmt.Errorf("%w: its raw length is %d, but its compressed bytes say %d", block.ErrDamaged, h.rawSize, n)
		}
		if cap(*raw) < h.rawSize {
			putBuffer(*raw)
			*raw = getBuffer(h.rawSize)
		}
		var err error
		if frames, err = s2.Decode((*raw)[:cap(*raw)], stored); err != nil {
			return Records{}, fmt.Errorf("%w: its bytes cannot be decompressed: %w", block.ErrDamaged, err)
		}
	}
	count, err := countFrames(frames)
	if err != nil {
		return Records{}, fmt.Errorf("%w: %w", block.ErrDamaged, err)
	}
	return Records{frames, count}, nil
}
