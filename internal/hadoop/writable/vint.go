// Package writable encodes integers as Hadoop's Writable classes do.
package writable

import (
	"errors"
	"io"
	"math"
)

// ErrTruncated means that the input ends within a value.
var ErrTruncated = errors.New("the data ends too early")

// ErrRange means that an encoded integer does not fit into an int64.
var ErrRange = errors.New("the number is out of range")

// AppendVInt appends n in the encoding of Hadoop's WritableUtils.writeVLong. A number from -112
// to 127 is one byte. For other numbers, the first byte encodes sign and length. After -113 to
// -120, the 1 to 8 bytes of a positive number follow; after -121 to -128, the 1 to 8 bytes of
// the bitwise complement of a negative number. The most significant byte comes first.
func AppendVInt(b []byte, n int64) []byte {
	if n >= -112 && n <= 127 {
		return append(b, byte(n))
	}
	head, value := -112, uint64(n)
	if n < 0 {
		head, value = -120, uint64(^n)
	}
	length := 1
	for rest := value >> 8; rest != 0; rest >>= 8 {
		length++
	}
	b = append(b, byte(head-length))
	for i := length - 1; i >= 0; i-- {
		b = append(b, byte(value>>(8*i)))
	}
	return b
}

// VInt decodes an integer that [AppendVInt] encoded, and returns the bytes after it as
// rest. It fails with [ErrTruncated] if b ends too early, and with [ErrRange] if the
// integer does not fit into an int64.
func VInt(b []byte) (n int64, rest []byte, err error) {
	if len(b) == 0 {
		return 0, nil, ErrTruncated
	}
	head := int8(b[0])
	b = b[1:]
	if head >= -112 {
		return int64(head), b, nil
	}
	length := following(head)
	if len(b) < length {
		return 0, nil, ErrTruncated
	}
	var value uint64
	for _, digit := range b[:length] {
		value = value<<8 | uint64(digit)
	}
	if value > math.MaxInt64 {
		return 0, nil, ErrRange
	}
	if head < -120 {
		value = ^value
	}
	return int64(value), b[length:], nil
}

// following returns the number of bytes that follow head, the first byte of an integer of
// several bytes.
func following(head int8) int {
	if head < -120 {
		return -120 - int(head)
	}
	return -112 - int(head)
}

// ReadVInt reads an integer that [AppendVInt] encoded. It returns r's error if r ends too
// early, and [ErrRange] if the integer does not fit into an int64.
func ReadVInt(r io.ByteReader) (int64, error) {
	var encoded [9]byte
	length := 0
	for i := 0; i <= length; i++ {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		encoded[i] = b
		if head := int8(b); i == 0 && head < -112 {
			length = following(head)
		}
	}
	n, _, err := VInt(encoded[:length+1])
	return n, err
}
