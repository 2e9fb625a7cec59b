package security

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/writable"
)

// appendBytes appends the length of p, then p.
func appendBytes[T ~[]byte | ~string](b []byte, p T) []byte {
	return append(writable.AppendVInt(b, int64(len(p))), p...)
}

// writableReader decodes Writable values from a byte slice. It never allocates more than the
// size of the slice, even if values state larger lengths.
type writableReader struct{ rest []byte }

// vint decodes an integer.
func (r *writableReader) vint() (n int64, err error) {
	n, r.rest, err = writable.VInt(r.rest)
	return n, err
}

// count reads the number of entries that follow, each of at least size bytes. It fails if the
// rest of the input is too short for that many entries.
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

// text reads a length and returns that many bytes as a string.
func (r *writableReader) text() (string, error) {
	value, err := r.bytes()
	return string(value), err
}
