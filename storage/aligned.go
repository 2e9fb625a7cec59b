package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxTailRead is the largest size in bytes of one read past a split's end. It is small, because
// such reads only complete one line.
const maxTailRead = 64 << 10

// alignedReader reads the lines of a split of an uncompressed file; see [Split.Open].
type alignedReader struct {
	file             File
	split            Split
	position         int64 // file offset of the next byte to read
	end              int64 // file offset of the split's end
	reachedFirstLine bool  // the reader has reached the split's first line
	done             bool  // the split's last line has been read completely
}

func (r *alignedReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for !r.reachedFirstLine {
		n, err := r.skip(p)
		if n > 0 || err != nil {
			return n, err
		}
	}
	switch {
	case r.done:
		return 0, io.EOF
	case r.position < r.end:
		return r.readBody(p)
	case r.split.Last:
		return 0, io.EOF
	default:
		return r.readTail(p)
	}
}

// skip reads bytes of the split into p, to find the end of the line that began before the split.
// It moves the bytes after that end to the start of p and returns their number. It returns 0 if
// the line does not end in p. It returns io.EOF if the line does not end within the split,
// because then no line begins in the split.
func (r *alignedReader) skip(p []byte) (int, error) {
	if r.position >= r.end {
		r.reachedFirstLine, r.done = true, true
		return 0, io.EOF
	}
	n, err := r.readBody(p)
	if i := bytes.IndexByte(p[:n], '\n'); i >= 0 {
		r.reachedFirstLine = true
		n = copy(p, p[i+1:n])
		return n, nil
	}
	return 0, err
}

// readBody reads bytes within the split.
func (r *alignedReader) readBody(p []byte) (int, error) {
	if left := r.end - r.position; int64(len(p)) > left {
		p = p[:left]
	}
	n, err := r.file.Read(p)
	r.position += int64(n)
	if errors.Is(err, io.EOF) {
		if r.position < r.end {
			return n, fmt.Errorf("split %s: the file ends at byte %d: it has changed since the splits were made: %w",
				r.split, r.position, io.ErrUnexpectedEOF)
		}
		err = nil // a later readTail returns io.EOF again
	}
	return n, err
}

// readTail reads past the split's end, up to the end of the line that the split's end divides.
func (r *alignedReader) readTail(p []byte) (int, error) {
	if len(p) > maxTailRead {
		p = p[:maxTailRead]
	}
	n, err := r.file.Read(p)
	r.position += int64(n)
	if i := bytes.IndexByte(p[:n], '\n'); i >= 0 {
		n, r.done, err = i+1, true, nil
	}
	return n, err
}

func (r *alignedReader) Close() error { return r.file.Close() }

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
