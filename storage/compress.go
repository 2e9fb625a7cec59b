package storage

import (
	"io"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/compression"
)

// CompressionSuffix returns the suffix of names of files with the given compression: ".gz" for
// "gzip", ".zst" for "zstd", ".bz2" for "bzip2", ".snappy" for "snappy", ".lz4" for "lz4",
// ".deflate" for "deflate", "" for "". It fails for other names.
func CompressionSuffix(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	codec, err := compression.ByName(name)
	return codec.Suffix, err
}

// CompressionOf returns the compression that the suffix of a file's name indicates, such as
// "gzip" for ".gz"; "" if the suffix indicates none.
func CompressionOf(file string) string {
	codec, _ := compression.ByFile(file)
	return codec.Name
}

// Compress returns a writer that compresses its input and writes the result to w. The output is
// complete only after Close, which does not close w. name is the name of one of Hadoop's codecs:
// "gzip", "zstd", "bzip2", "deflate" (zlib), "snappy" or "lz4". The last two use Hadoop's block
// format, which the commands snappy and lz4 cannot read. If name is "", the input is not
// compressed. [Split.Open] decompresses files whose names end in the [CompressionSuffix] of a
// codec.
func Compress(w io.Writer, name string) (io.WriteCloser, error) {
	if name == "" {
		return nopCloseWriter{w}, nil
	}
	codec, err := compression.ByName(name)
	if err != nil {
		return nil, err
	}
	return codec.NewWriter(w)
}

type nopCloseWriter struct{ io.Writer }

func (nopCloseWriter) Close() error { return nil }

// Decompress returns a reader of the decompressed content of r. name is a compression that
// [Compress] supports. Close does not close r.
func Decompress(r io.Reader, name string) (io.ReadCloser, error) {
	if name == "" {
		return io.NopCloser(r), nil
	}
	codec, err := compression.ByName(name)
	if err != nil {
		return nil, err
	}
	return codec.NewReader(r)
}
