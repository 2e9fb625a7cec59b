package storage

import (
	"fmt"
	"io"
	"path"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// isSplittable returns the compression that a file's name implies, or "".
func isSplittable(name string) string {
	switch path.Ext(name) {
	case ".gz":
		return gzipCompression
	case ".zst":
		return zstdCompression
	}
	return ""
}

// decompress returns a reader of the decompressed content of file: of all members
// of a gzip file, and of all frames of a zstd file. Closing it closes file.
func (s Split) decompress(file File) (io.ReadCloser, error) {
	r := &decompressedReader{split: s, file: file}
	switch s.Compression {
	case gzipCompression:
		z, err := gzip.NewReader(file)
		if err != nil {
			_ = file.Close()
			return nil, r.wrapError(err)
		}
		r.Reader, r.stop = z, z.Close
	case zstdCompression:
		// A concurrency of 1 uses the caller's goroutine: a task has one core.
		z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
		if err != nil {
			_ = file.Close()
			return nil, r.wrapError(err)
		}
		r.Reader, r.stop = z, func() error { z.Close(); return nil }
	default:
		_ = file.Close()
		return nil, fmt.Errorf("split %s: unknown compression; known are %s and %s", s, gzipCompression, zstdCompression)
	}
	return r, nil
}

type decompressedReader struct {
	io.Reader
	split Split
	file  File
	stop  func() error
}

func (r *decompressedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	return n, r.wrapError(err)
}

func (r *decompressedReader) Close() error {
	err := r.stop()
	if closeErr := r.file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// wrapError adds the split's name to an error other than nil and io.EOF.
func (r *decompressedReader) wrapError(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("decompress %s: %w", r.split, err)
}
