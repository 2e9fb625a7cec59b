package storage

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// CompressionSuffix returns the end of the names of files with a compression: ".gz" for
// "gzip", ".zst" for "zstd", and "" for "". It fails for all other compressions.
func CompressionSuffix(compression string) (string, error) {
	switch compression {
	case "":
		return "", nil
	case gzipCompression:
		return ".gz", nil
	case zstdCompression:
		return ".zst", nil
	}
	return "", fmt.Errorf("unknown compression %q; known are %s and %s", compression, gzipCompression, zstdCompression)
}

// Compress returns a writer that compresses what is written to it, and writes it to w.
// The file is complete only after Close, which does not close w. compression is "gzip",
// "zstd", or "" for none. [Split.Open] decompresses files whose names end in the
// [CompressionSuffix].
func Compress(w io.Writer, compression string) (io.WriteCloser, error) {
	switch compression {
	case "":
		return nopCloseWriter{w}, nil
	case gzipCompression:
		return gzip.NewWriter(w), nil
	case zstdCompression:
		// A concurrency of 1 uses the caller's goroutine: a task has one core.
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	}
	_, err := CompressionSuffix(compression)
	return nil, err
}

type nopCloseWriter struct{ io.Writer }

func (nopCloseWriter) Close() error { return nil }
