package storage

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Values of Split.Compression.
const (
	gzipCompression = "gzip"
	zstdCompression = "zstd"
)

// Split is a part of an input for one task: a range of a file. It is plain
// data and can be sent to another process; what reads it finds its Files in
// the context (see [With]).
type Split struct {
	// Path is the full URI of the file.
	Path string
	// Offset of the range and its Length, in bytes as they are stored.
	Offset, Length int64
	// Hosts are names of hosts that store bytes of the range, the one with the
	// most bytes first; none on the local disk.
	Hosts []string
	// Compression is "gzip" or "zstd" where the range is a whole compressed
	// file, else empty.
	Compression string
}

// PreferredHosts are the hosts from which the split is cheapest to read.
func (s Split) PreferredHosts() []string { return slices.Clone(s.Hosts) }

// String describes the split for people: its file and range.
func (s Split) String() string {
	if s.Compression != "" {
		return fmt.Sprintf("%s (%s)", s.Path, s.Compression)
	}
	return fmt.Sprintf("%s:%d+%d", s.Path, s.Offset, s.Length)
}

// Open returns the whole lines of the split, decompressed. Read together, the
// splits of a file give every line of it exactly once.
//
// As with Hadoop's TextInputFormat, the lines of a split are those that begin
// after its offset up to, and including, its end; those of the first split
// begin at the file's first byte. So a split leaves out the line it begins in
// the middle of, and finishes its last line from the bytes that follow it.
//
// ctx governs the reading until the reader is closed.
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
		file:     file,
		split:    s,
		position: s.Offset,
		end:      s.Offset + s.Length,
		inside:   s.Offset == 0,
	}, nil
}
