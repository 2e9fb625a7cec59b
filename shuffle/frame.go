package shuffle

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A frame is a record as bytes: the key's length (a uvarint), the key, the value's
// length (a uvarint), the value.

// maxRecord is the largest size of a frame, in bytes. It is also the largest size of the
// frames of a block, because a frame larger than blockSize has a block of its own.
const maxRecord = 1 << 30

// frameSize returns the size of a record's frame.
func frameSize(key, value []byte) int {
	return uvarintSize(len(key)) + len(key) + uvarintSize(len(value)) + len(value)
}

func uvarintSize(n int) int { return (bits.Len(uint(n)|1) + 6) / 7 }

// putFrame writes a record's frame to p. The length of p must be frameSize(key, value).
func putFrame(p, key, value []byte) {
	n := 1
	if len(key) < 0x80 {
		p[0] = byte(len(key))
	} else {
		n = binary.PutUvarint(p, uint64(len(key)))
	}
	n += copy(p[n:], key)
	if len(value) < 0x80 {
		p[n] = byte(len(value))
		n++
	} else {
		n += binary.PutUvarint(p[n:], uint64(len(value)))
	}
	copy(p[n:], value)
}

func appendFrame(p, key, value []byte) []byte {
	p = append(binary.AppendUvarint(p, uint64(len(key))), key...)
	return append(binary.AppendUvarint(p, uint64(len(value))), value...)
}

// cutField splits p, which begins with a field's length and the field, into the field and the
// remaining bytes. A field is a key or a value. cutField panics if p ends before the field
// does. It does not allocate memory.
func cutField(p []byte) (field, rest []byte) {
	n := int(p[0])
	if n < 0x80 {
		return p[1 : 1+n : 1+n], p[1+n:]
	}
	return cutLongField(p)
}

//go:noinline
func cutLongField(p []byte) (field, rest []byte) {
	n, size := binary.Uvarint(p)
	end := size + int(n)
	return p[size:end:end], p[end:]
}

// countFrames returns the number of frames in p. It fails if p is not a sequence of frames.
func countFrames(p []byte) (int, error) {
	count := 0
	for at := 0; at < len(p); count++ {
		for field := range 2 {
			if at < len(p) && p[at] < 0x80 {
				at += 1 + int(p[at])
			} else {
				n, size := binary.Uvarint(p[min(at, len(p)):])
				if size <= 0 || n > uint64(len(p)) {
					return 0, fmt.Errorf("record %d has no valid length of its %s", count, [...]string{"key", "value"}[field])
				}
				at += size + int(n)
			}
		}
		if at > len(p) {
			return 0, fmt.Errorf("record %d exceeds the block by %d bytes", count, at-len(p))
		}
	}
	return count, nil
}

// Records are the records of a block, in order. They are valid until the next block
// is read.
type Records struct {
	rest  []byte // frames that Next has not yet returned
	count int
}

// Len returns the number of records of the block.
func (r *Records) Len() int { return r.count }

// Next returns the next record. ok is false if there is none.
func (r *Records) Next() (key, value []byte, ok bool) {
	p := r.rest
	if len(p) == 0 {
		return nil, nil, false
	}
	key, p = cutField(p)
	value, r.rest = cutField(p)
	return key, value, true
}
