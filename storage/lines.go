package storage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
)

// lineBuffer is the largest initial size in bytes of the buffer for lines. The buffer grows for
// longer lines.
const lineBuffer = 256 << 10

// maxIdleReads is the largest number of consecutive reads that return neither bytes nor an
// error, as in package bufio.
const maxIdleReads = 100

// Lines yields the lines of the split (see [Split.Open]) without their "\n" or "\r\n". A line
// may have any length that fits into memory. Its bytes are valid until the next iteration. An
// error is yielded with a nil line and ends the iteration.
func (s Split) Lines(ctx context.Context) iter.Seq2[[]byte, error] {
	return s.LinesUpTo(ctx, math.MaxInt)
}

// LinesUpTo yields lines as [Split.Lines] does, but for a line of more than limit bytes it
// yields an error. It uses little more memory than limit bytes. If limit is less than 256 KiB,
// lines of up to 256 KiB may still be yielded.
func (s Split) LinesUpTo(ctx context.Context, limit int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		r, err := s.Open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = r.Close() }()
		tooLong := fmt.Errorf("%s: a line is longer than %d bytes, the limit", s, limit)
		size := int64(lineBuffer)
		if s.Compression == "" {
			size = min(size, s.Length+1) // with room for the end of the file to be read
		}
		scanLines(r, make([]byte, size), limit, tooLong, yield)
	}
}

// scanLines yields the lines of r. It reads them into buffer, or into a larger buffer of at most
// limit bytes if a line does not fit into buffer. For a line that does not fit into the larger
// buffer, it yields the error tooLong.
func scanLines(r io.Reader, buffer []byte, limit int, tooLong error, yield func([]byte, error) bool) {
	// buffer[start:filled] has been read but not yielded. buffer[start:searched] contains no
	// newline.
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
			// Only the last line of a file can end without a newline.
			if start < filled {
				yield(trimReturn(buffer[start:filled]), nil)
			}
			return
		}
		filled = copy(buffer, buffer[start:filled])
		start, searched = 0, filled
		if filled == len(buffer) {
			if len(buffer) >= limit {
				yield(nil, tooLong)
				return
			}
			buffer = append(buffer, make([]byte, min(len(buffer), limit-len(buffer)))...)
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
