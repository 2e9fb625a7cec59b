package storage

import (
	"bytes"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/compression"
)

// isSplittable reports whether files with the given compression can be divided into splits.
func isSplittable(name string) bool { return name == "" || name == compression.Bzip2 }

// decompress returns a reader of the decompressed content of file. Closing it closes file.
func (s Split) decompress(file File) (io.ReadCloser, error) {
	r := &decompressedReader{split: s, file: file}
	var err error
	if s.Compression == compression.Bzip2 {
		r.content, err = s.bzip2Lines(file)
	} else {
		r.content, err = Decompress(file, s.Compression)
	}
	if err != nil {
		_ = file.Close()
		return nil, r.wrapError(err)
	}
	return r, nil
}

type decompressedReader struct {
	content io.ReadCloser
	split   Split
	file    File
}

func (r *decompressedReader) Read(p []byte) (int, error) {
	n, err := r.content.Read(p)
	return n, r.wrapError(err)
}

func (r *decompressedReader) Close() error {
	err := r.content.Close()
	if closeErr := r.file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// wrapError adds the split's description to err, unless err is nil or io.EOF.
func (r *decompressedReader) wrapError(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("decompress %s: %w", r.split, err)
}

// bzip2Lines returns a reader of the lines of a split of a bzip2 file. As in Hadoop, a
// bzip2 block belongs to the split that contains the block's first bit.
func (s Split) bzip2Lines(file File) (io.ReadCloser, error) {
	if _, err := file.Seek(s.Offset, io.SeekStart); err != nil {
		return nil, err
	}
	blocks, err := compression.NewBzip2Range(file, s.Offset, s.Offset+s.Length)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(&blockLines{blocks: blocks, block: bytes.NewReader(nil), reachedFirstLine: s.Offset == 0}), nil
}

// blockLines reads the lines of a split of a bzip2 file, one decompressed block after the other.
// Like alignedReader, it skips the line that began before the split, and completes the last line
// from the blocks after the split.
type blockLines struct {
	blocks           *compression.Bzip2Range
	block            io.Reader // the current block
	afterSplit       bool      // the current block is after the split
	reachedFirstLine bool      // the reader has reached the split's first line
	done             bool      // the split's last line has been read completely
}

func (r *blockLines) Read(p []byte) (int, error) {
	for !r.done && len(p) > 0 {
		n, err := r.block.Read(p)
		if err != nil && err != io.EOF {
			return n, err
		}
		if n == 0 && err == io.EOF {
			if err := r.next(); err != nil {
				return 0, err
			}
			continue
		}
		end := bytes.IndexByte(p[:n], '\n') + 1
		switch {
		case !r.reachedFirstLine && end == 0:
			continue // the line that began before the split does not end in these bytes
		case !r.reachedFirstLine:
			r.reachedFirstLine = true
			n = copy(p, p[end:n])
		case r.afterSplit && end > 0:
			r.done, n = true, end
		}
		if n > 0 {
			return n, nil
		}
	}
	if r.done {
		return 0, io.EOF
	}
	return 0, nil
}

// next opens the next block. It returns io.EOF if there is no further block, or if the block
// is after the split and no line begins in the split.
func (r *blockLines) next() error {
	block, inRange, err := r.blocks.Next()
	if err != nil {
		return err
	}
	r.block, r.afterSplit = block, !inRange
	if r.afterSplit && !r.reachedFirstLine {
		return io.EOF
	}
	return nil
}
