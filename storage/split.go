package storage

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Split is the input of one task: a range of a file. It is plain data and can be sent to
// another process. Its methods use the [Files] of their context (see [With]).
type Split struct {
	Path string // full URI of the file
	// Offset and Length are the range in bytes of the file as stored, maybe compressed.
	Offset, Length int64
	// Last is set if the file ended where the range does. Lines that were appended since
	// are not read.
	Last bool
	// Hosts store bytes of the range, the one with the most first; nil on the local disk.
	Hosts []string
	// Compression is "gzip" or "zstd" if the range is a whole compressed file, else "".
	Compression string
}

// PreferredHosts returns a copy of Hosts, where most of the split is read locally.
func (s Split) PreferredHosts() []string { return slices.Clone(s.Hosts) }

// String returns the split's file and range, or its file and compression.
func (s Split) String() string {
	if !isSplittable(s.Compression) {
		return fmt.Sprintf("%s (%s)", s.Path, s.Compression)
	}
	return fmt.Sprintf("%s:%d+%d", s.Path, s.Offset, s.Length)
}

// Open returns a reader of the split's lines, or of a compressed file's content. As in
// Hadoop's TextInputFormat, a split has the lines that begin after its offset, up to and
// including its end; the first split also has the first line. So the reader skips a line
// that began before, and reads past the split's end to complete the last line.
//
// When ctx ends, reads return its error.
func (s Split) Open(ctx context.Context) (io.ReadCloser, error) {
	if s.Offset < 0 || s.Length < 0 {
		return nil, fmt.Errorf("split %s: its offset and length must not be negative", s)
	}
	file, err := From(ctx).Open(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	if s.Compression != "" {
		return s.decompress(file)
	}
	if s.Offset > 0 {
		if _, err := file.Seek(s.Offset, io.SeekStart); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("split %s: %w", s, err)
		}
	}
	return &alignedReader{
		file:             file,
		split:            s,
		position:         s.Offset,
		end:              s.Offset + s.Length,
		reachedFirstLine: s.Offset == 0,
	}, nil
}
