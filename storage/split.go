package storage

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Split is a range of a file, the input of one task. It is plain data and can be sent to another
// process. Its methods use the [Files] in their context (see [With]).
type Split struct {
	Path string // full URI of the file
	// Offset and Length are the range, in bytes of the stored file. If the file is compressed,
	// they count compressed bytes.
	Offset, Length int64
	// Last is true if the range ended at the end of the file when the file was divided into
	// splits. Lines that are appended to the file later are not read.
	Last bool
	// Hosts are the hosts, at most five, that store the most bytes of the range, the host with
	// the most bytes first. It is nil on the local disk.
	Hosts []string
	// Compression is the file's compression, as returned by [CompressionOf]. If it is neither ""
	// nor "bzip2", the range is the whole file.
	Compression string
}

// PreferredHosts returns a copy of Hosts. A task on one of these hosts reads at least a part of
// the split from a local disk.
func (s Split) PreferredHosts() []string { return slices.Clone(s.Hosts) }

// String returns the path with the range or, for a file that cannot be divided, the compression.
func (s Split) String() string {
	if !isSplittable(s.Compression) {
		return fmt.Sprintf("%s (%s)", s.Path, s.Compression)
	}
	return fmt.Sprintf("%s:%d+%d", s.Path, s.Offset, s.Length)
}

// Open returns a reader of the split's lines, decompressed. If the file's compression does not
// allow splits, the reader returns the whole content of the file.
//
// As in Hadoop's TextInputFormat, a line belongs to the split if it begins after the split's
// offset and not after the split's end. The first split also contains the file's first line. So
// the reader skips the line that begins at or before the offset, and reads past the split's end
// to complete the last line.
//
// When ctx ends, reads return ctx's error.
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
