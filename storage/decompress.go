package storage

import (
	"fmt"
	"io"
	"path"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compressionOf returns the compression of a file with this name, or "". A
// compressed file can only be read from its beginning, so it is one split.
func compressionOf(name string) string {
	switch path.Ext(name) {
	case ".gz":
		return gzipCompression
	case ".zst":
		return zstdCompression
	}
	return ""
}

// decompress reads the whole file through the split's decompressor: all
// members of a gzip file and all frames of a zstd file.
func (s Split) decompress(file File) (io.ReadCloser, error) {
	r := &decompressedReader{split: s, file: file}
	switch s.Compression {
	case gzipCompression:
		z, err := gzip.NewReader(file)
		if err != nil {
			_ = file.Close()
			return nil, r.failed(err)
		}
		r.Reader, r.stop = z, z.Close
	case zstdCompression:
		// In the caller's goroutine: a task has one core.
		z, err := zstd.NewReader(file, zstd.WithDecoderConcurrency(1))
		if err != nil {
			_ = file.Close()
			return nil, r.failed(err)
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
	return n, r.failed(err)
}

func (r *decompressedReader) Close() error {
	err := r.stop()
	if closeErr := r.file.Close(); err == nil {
		err = closeErr
	}
	return err
}

// failed adds the file to a decompressor's error.
func (r *decompressedReader) failed(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("decompress %s: %w", r.split, err)
}
