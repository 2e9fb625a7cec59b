// Package syncmark reads files that have sync markers between their blocks, such as Avro
// container files and Hadoop's SequenceFiles. A task whose input split begins in the middle of
// a file searches for the next marker, and reads from there.
package syncmark

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// Size is the number of bytes of a sync marker.
const Size = 16

// Marker is the sync marker of a file: random bytes, which the file's header also contains.
type Marker [Size]byte

// bufferSize is the number of bytes that a Reader reads from the file at once.
const bufferSize = 256 << 10

// Reader reads a file, tracks its position in the file, and searches for sync markers.
type Reader struct {
	file     io.ReadSeeker
	buffer   *bufio.Reader
	position int64
	size     int64
}

// NewReader returns a reader of a file whose length is size bytes. The file must be positioned
// at its beginning.
func NewReader(file io.ReadSeeker, size int64) *Reader {
	return &Reader{file: file, buffer: bufio.NewReaderSize(file, bufferSize), size: size}
}

// Position returns the offset of the next byte to read.
func (r *Reader) Position() int64 { return r.position }

// AtEnd reports whether all bytes of the file have been read.
func (r *Reader) AtEnd() bool { return r.position >= r.size }

// Left returns the number of bytes of the file that have not been read yet.
func (r *Reader) Left() int64 { return r.size - r.position }

// SeekTo sets the offset of the next byte to read.
func (r *Reader) SeekTo(position int64) error {
	if ahead := position - r.position; ahead >= 0 && ahead <= int64(r.buffer.Buffered()) {
		_, err := r.buffer.Discard(int(ahead))
		r.position = position
		return err
	}
	if _, err := r.file.Seek(position, io.SeekStart); err != nil {
		return err
	}
	r.buffer.Reset(r.file)
	r.position = position
	return nil
}

// ReadByte returns the next byte. At the end of the file it fails with
// io.ErrUnexpectedEOF.
func (r *Reader) ReadByte() (byte, error) {
	b, err := r.buffer.ReadByte()
	if err != nil {
		return 0, unexpected(err)
	}
	r.position++
	return b, nil
}

// Bytes reads the next n bytes into buffer, or into a new buffer if buffer is too small, and
// returns them. If fewer than n bytes remain, Bytes fails with io.ErrUnexpectedEOF before it
// allocates memory. So n may be a length that was read from a damaged file.
func (r *Reader) Bytes(n int64, buffer []byte) ([]byte, error) {
	if n < 0 || n > r.Left() {
		return nil, fmt.Errorf("%w: %d bytes are left, %d are needed", io.ErrUnexpectedEOF, r.Left(), n)
	}
	if n > int64(cap(buffer)) {
		buffer = make([]byte, n)
	}
	read, err := io.ReadFull(r.buffer, buffer[:n])
	r.position += int64(read)
	return buffer[:n], unexpected(err)
}

// Expect reads the next [Size] bytes, and reports whether they are the marker.
func (r *Reader) Expect(marker Marker) (bool, error) {
	found, err := r.buffer.Peek(Size)
	if err != nil {
		return false, unexpected(err)
	}
	same := Marker(found) == marker
	_, _ = r.buffer.Discard(Size) // cannot fail: the bytes are in the buffer
	r.position += Size
	return same, nil
}

// SkipPast searches for the first marker that begins at the current position or later, but
// before the offset end. It sets the position to the byte after the marker. If there is no such
// marker, SkipPast returns false, and the position is undefined.
func (r *Reader) SkipPast(marker Marker, end int64) (bool, error) {
	for r.position < end {
		window, err := r.buffer.Peek(int(min(bufferSize, end-r.position+Size-1)))
		if i := bytes.Index(window, marker[:]); i >= 0 {
			_, _ = r.buffer.Discard(i + Size) // cannot fail: the bytes are in the buffer
			r.position += int64(i + Size)
			return true, nil
		}
		if err != nil {
			if err == io.EOF {
				err = nil
			}
			return false, err
		}
		skipped, _ := r.buffer.Discard(max(len(window)-Size+1, 1))
		r.position += int64(skipped)
	}
	return false, nil
}

// unexpected returns io.ErrUnexpectedEOF if err is io.EOF, otherwise err.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
