package security

import (
	"errors"
	"fmt"
)

// errTruncated means that the input ends inside a value.
var errTruncated = errors.New("the data ends too early")

// appendVint appends n in the encoding of Hadoop's WritableUtils.writeVLong. From
// -112 to 127, n is one byte. Otherwise the first byte encodes sign and length:
// -113 to -120 mean that 1 to 8 bytes follow, -121 to -128 that 1 to 8 bytes of a
// negative number's complement follow. The highest byte comes first.
func appendVint(b []byte, n int64) []byte {
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

// appendBytes appends the length of p, then p.
func appendBytes[T ~[]byte | ~string](b []byte, p T) []byte {
	return append(appendVint(b, int64(len(p))), p...)
}

// writableReader decodes Writable values from a byte slice. It never allocates more than
// the size of the slice, whatever lengths the values claim.
type writableReader struct{ rest []byte }

// vint decodes an integer that appendVint encoded.
func (r *writableReader) vint() (int64, error) {
	if len(r.rest) == 0 {
		return 0, errTruncated
	}
	head := int8(r.rest[0])
	r.rest = r.rest[1:]
	if head >= -112 {
		return int64(head), nil
	}
	length, negative := int(-112-int(head)), false
	if head < -120 {
		length, negative = int(-120-int(head)), true
	}
	if len(r.rest) < length {
		return 0, errTruncated
	}
	var value uint64
	for _, b := range r.rest[:length] {
		value = value<<8 | uint64(b)
	}
	r.rest = r.rest[length:]
	if negative {
		return ^int64(value), nil
	}
	return int64(value), nil
}

// count reads the number of entries that follow, each of at least size bytes. It fails if
// the input is too short for them.
func (r *writableReader) count(size int) (int, error) {
	n, err := r.vint()
	if err != nil {
		return 0, err
	}
	if n < 0 || n > int64(len(r.rest)/size) {
		return 0, fmt.Errorf("%d entries cannot fit in the %d bytes left", n, len(r.rest))
	}
	return int(n), nil
}

// bytes reads a length and returns a copy of that many bytes.
func (r *writableReader) bytes() ([]byte, error) {
	n, err := r.vint()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > int64(len(r.rest)) {
		return nil, fmt.Errorf("a value of %d bytes cannot fit in the %d bytes left", n, len(r.rest))
	}
	value := append([]byte{}, r.rest[:n]...)
	r.rest = r.rest[n:]
	return value, nil
}

// text reads bytes as a string.
func (r *writableReader) text() (string, error) {
	value, err := r.bytes()
	return string(value), err
}
