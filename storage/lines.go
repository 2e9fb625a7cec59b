package storage

import (
	"bytes"
	"context"
	"io"
	"iter"
)

// lineBuffer is the initial size in bytes of the buffer, which grows for longer lines.
const lineBuffer = 256 << 10

// maxIdleReads is how many consecutive reads may return neither bytes nor an error, as in
// package bufio.
const maxIdleReads = 100

// Lines yields the lines of the split (see [Split.Open]) without their "\n" or "\r\n". A
// line may have any length that fits into memory; its bytes are valid until the next
// iteration. After an error, which is yielded with a nil line, the iteration ends.
func (s Split) Lines(ctx context.Context) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r, err := s.Open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = r.Close() }() // the file was only read
		scanLines(r, make([]byte, lineBuffer), yield)
	}
}

// scanLines yields the lines of r, which it reads into buffer, or a larger one if needed.
func scanLines(r io.Reader, buffer []byte, yield func([]byte, error) bool) {
	// buffer[start:filled] is not yielded yet, without a newline before searched.
	var start, searched, filled int
	for idle, eof := 0, false; ; {
		for {
			i := bytes.IndexByte(buffer[searched:filled], '\n')
			if i < 0 {
				break
			}
			end := searched + i
			if !yield(trimReturn(buffer[start:end]), nil) {
				return
			}
			start, searched = end+1, end+1
		}
		if eof {
			// Only the last line of a file can lack its newline.
			if start < filled {
				yield(trimReturn(buffer[start:filled]), nil)
			}
			return
		}
		filled = copy(buffer, buffer[start:filled])
		start, searched = 0, filled
		if filled == len(buffer) {
			buffer = append(buffer, make([]byte, len(buffer))...)
		}
		n, err := r.Read(buffer[filled:])
		filled += n
		if idle++; n > 0 {
			idle = 0
		} else if err == nil && idle == maxIdleReads {
			err = io.ErrNoProgress
		}
		if eof = err == io.EOF; err != nil && !eof {
			yield(nil, err)
			return
		}
	}
}

// trimReturn removes a "\r" at the end of a line.
func trimReturn(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}
