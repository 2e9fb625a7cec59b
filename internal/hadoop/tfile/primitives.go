package tfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// source is the input of the functions in this file.
type source interface {
	io.Reader
	io.ByteReader
}

// readVLong reads an integer of one to nine bytes (Utils.java of io.file.tfile). A first byte
// from -32 to 127 is the integer. A smaller first byte contains the highest bits of the
// integer, or the number of bytes that follow.
func readVLong(r source) (int64, error) {
	b, err := r.ReadByte()
	if err != nil {
		return 0, err
	}
	first := int64(int8(b))
	var high int64
	var following int
	switch {
	case first >= -32:
		return first, nil
	case first >= -72:
		high, following = first+52, 1
	case first >= -104:
		high, following = first+88, 2
	case first >= -120:
		high, following = first+112, 3
	default:
		following = int(first + 129)
		if following < 4 {
			return 0, fmt.Errorf("a number begins with 0x%02x, which begins none", b)
		}
	}
	var rest [8]byte
	if _, err := io.ReadFull(r, rest[:following]); err != nil {
		return 0, unexpected(err)
	}
	var low uint64
	for _, b := range rest[:following] {
		low = low<<8 | uint64(b)
	}
	if following < 4 {
		return high<<(8*following) | int64(low), nil
	}
	// The following bytes are the integer. The first of them contains the sign.
	return int64(low<<(64-8*following)) >> (64 - 8*following), nil
}

// readLength reads an integer. It fails if the integer is not in the range 0 to most.
func readLength(r source, most int64) (int, error) {
	n, err := readVLong(r)
	if err != nil {
		return 0, err
	}
	if n < 0 || n > most || n > math.MaxInt32 {
		return 0, fmt.Errorf("a length is %d, out of 0 to %d", n, most)
	}
	return int(n), nil
}

// maxText is the largest size in bytes of a string in a file's index.
const maxText = 64 << 10

// readText reads a string, which is a length and that many bytes. The length -1 stands for
// null, for which readText returns "".
func readText(r source) (string, error) {
	n, err := readVLong(r)
	if err != nil || n == -1 {
		return "", err
	}
	if n < 0 || n > maxText {
		return "", fmt.Errorf("a text has %d bytes, more than %d", n, maxText)
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return string(text), unexpected(err)
}

// readVersion reads a version: two integers of 2 bytes.
func readVersion(r io.Reader) (major, minor int16, err error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, 0, unexpected(err)
	}
	return int16(binary.BigEndian.Uint16(b[:])), int16(binary.BigEndian.Uint16(b[2:])), nil
}

// unexpected returns io.ErrUnexpectedEOF for io.EOF, and any other error unchanged.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
