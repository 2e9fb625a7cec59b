package record

import (
	"encoding/binary"
	"fmt"
)

// A reader reads one encoded value or key.
type reader struct {
	b  []byte
	at int // number of bytes of b that have been read
}

// malformed returns an error for the part p, whose encoding begins at offset start.
func (r *reader) malformed(p *part, start int) error {
	return fmt.Errorf("%s: malformed or truncated %s at byte %d of %d", p.path, codeNames[p.code], start, len(r.b))
}

// checkEnd returns err if it is not nil. Otherwise it returns an error unless all bytes have
// been read.
func (r *reader) checkEnd(path string, err error) error {
	if err == nil && r.at < len(r.b) {
		return fmt.Errorf("%s: the value ends at byte %d of %d", path, r.at, len(r.b))
	}
	return err
}

// next reads n bytes. If fewer than n bytes remain, it reads none and returns nil. Callers detect
// this by comparing the length of the result with n.
func (r *reader) next(n int) []byte {
	if n > len(r.b)-r.at {
		return nil
	}
	r.at += n
	return r.b[r.at-n : r.at : r.at]
}

func (r *reader) uvarint() (uint64, bool) {
	if r.at < len(r.b) && r.b[r.at] < 0x80 {
		r.at++
		return uint64(r.b[r.at-1]), true
	}
	return r.longUvarint()
}

func (r *reader) longUvarint() (uint64, bool) {
	x, n := binary.Uvarint(r.b[r.at:])
	r.at += max(n, 0)
	return x, n > 0
}

func (r *reader) varint() (int64, bool) {
	x, ok := r.uvarint()
	return int64(x>>1) ^ -int64(x&1), ok
}

// length reads the number of elements or bytes of a part. size is the minimum size in bytes of
// one of these. If fewer bytes remain than all of them need, length returns false.
func (r *reader) length(size int) (int, bool) {
	n, ok := r.uvarint()
	return int(n), ok && n <= uint64(len(r.b)-r.at)/uint64(size)
}

// optionalLength reads the length of a slice, which is encoded as the length plus one; 0 means
// a nil slice. It checks the length as reader.length does.
func (r *reader) optionalLength(size int) (n int, isNil, ok bool) {
	x, ok := r.uvarint()
	if !ok || x == 0 {
		return 0, true, ok
	}
	return int(x - 1), false, x-1 <= uint64(len(r.b)-r.at)/uint64(size)
}
