package eventlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	frameMagic     = 0xFD2FB528
	skippableMagic = 0x184D2A50 // first of the 16 magic numbers of skippable frames (RFC 8878)
	// maxFrame limits the size of a frame in bytes, both compressed and decompressed.
	maxFrame = 64 << 20
	// footerSize is the size in bytes of the skippable frame at the end of a complete log.
	footerSize = 4 + 4 + 8 + 8
)

// footerMark is the first half of the content of the skippable frame at the end of a complete log.
// The second half is the offset of the frame with the summary.
var footerMark = [8]byte{'b', 'o', 'b', 'b', 'i', 'n', 0, 1}

// errTruncated is the error of nextFrame if the file ends within a frame.
var errTruncated = errors.New("the file ends within a frame")

// nextFrame reads a zstd frame (RFC 8878) from r and returns it with its size in bytes. For a
// skippable frame, the first result is nil. At the end of the file, nextFrame returns io.EOF. If
// the file ends within a frame, nextFrame returns the read part of the frame and errTruncated.
func nextFrame(r io.Reader) (frame []byte, size int64, err error) {
	f := frameReader{r: r}
	if err := f.read(4); err != nil {
		if len(f.bytes) == 0 {
			return nil, 0, io.EOF
		}
		return nil, int64(len(f.bytes)), errTruncated
	}
	switch magic := binary.LittleEndian.Uint32(f.bytes); {
	case magic == frameMagic:
		err = f.blocks()
		return f.bytes, int64(len(f.bytes)), err
	case magic&^0xF == skippableMagic:
		if err := f.read(4); err != nil {
			return nil, int64(len(f.bytes)), err
		}
		skipped, err := io.CopyN(io.Discard, r, int64(binary.LittleEndian.Uint32(f.bytes[4:])))
		if errors.Is(err, io.EOF) {
			err = errTruncated
		}
		return nil, int64(len(f.bytes)) + skipped, err
	default:
		return nil, 0, fmt.Errorf("bytes %x begin no frame of zstd", f.bytes)
	}
}

// frameReader reads the parts of a frame from r and appends them to bytes.
type frameReader struct {
	r     io.Reader
	bytes []byte
}

func (f *frameReader) read(n int) error {
	if len(f.bytes)+n > maxFrame {
		return fmt.Errorf("a frame has more than %d bytes", maxFrame)
	}
	before := len(f.bytes)
	f.bytes = append(f.bytes, make([]byte, n)...)
	got, err := io.ReadFull(f.r, f.bytes[before:])
	f.bytes = f.bytes[:before+got]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errTruncated
	}
	return err
}

// blocks reads the header, the blocks and the checksum of a frame.
func (f *frameReader) blocks() error {
	if err := f.read(1); err != nil {
		return err
	}
	descriptor := f.bytes[4]
	singleSegment, checksum := descriptor&(1<<5) != 0, descriptor&(1<<2) != 0
	header := [4]int{0, 1, 2, 4}[descriptor&3] + [4]int{0, 2, 4, 8}[descriptor>>6]
	switch {
	case !singleSegment:
		header++
	case descriptor>>6 == 0:
		header++
	}
	if err := f.read(header); err != nil {
		return err
	}
	for last := false; !last; {
		if err := f.read(3); err != nil {
			return err
		}
		b := f.bytes[len(f.bytes)-3:]
		block := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		last = block&1 != 0
		size := int(block >> 3)
		switch block >> 1 & 3 {
		case 1: // RLE block: one byte, which is repeated
			size = 1
		case 3:
			return errors.New("a block of zstd has an unknown type")
		}
		if err := f.read(size); err != nil {
			return err
		}
	}
	if checksum {
		return f.read(4)
	}
	return nil
}

// footer returns the skippable frame at the end of a complete log. summary is the offset of the
// frame with the summary.
func footer(summary int64) []byte {
	f := binary.LittleEndian.AppendUint32(nil, skippableMagic)
	f = binary.LittleEndian.AppendUint32(f, footerSize-8)
	f = append(f, footerMark[:]...)
	return binary.LittleEndian.AppendUint64(f, uint64(summary))
}

// readFooter returns the offset in the footer f, or -1 if f is not a valid footer.
func readFooter(f []byte) int64 {
	if len(f) != footerSize || [8]byte(f[8:16]) != footerMark || binary.LittleEndian.Uint32(f) != skippableMagic {
		return -1
	}
	return int64(binary.LittleEndian.Uint64(f[16:]))
}
