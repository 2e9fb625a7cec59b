package avro

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/compression"
)

// bzip2Codec is an ocf.Codec for bzip2.
type bzip2Codec struct{ compression.Codec }

func newBzip2Codec() (bzip2Codec, error) {
	codec, err := compression.ByName(compression.Bzip2)
	return bzip2Codec{codec}, err
}

// Name returns the codec's name in the headers of files.
func (bzip2Codec) Name() string { return "bzip2" }

// Compress returns the compressed form of a block.
func (b bzip2Codec) Compress(block []byte) ([]byte, error) {
	var compressed bytes.Buffer
	w, err := b.NewWriter(&compressed)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(block)
	err = errors.Join(err, w.Close())
	return compressed.Bytes(), err
}

// Decompress returns the content of a compressed block.
func (b bzip2Codec) Decompress(block []byte) ([]byte, error) {
	return b.DecompressBounded(block, math.MaxInt64-1)
}

// DecompressBounded returns the content of a compressed block. It fails if the content has
// more than limit bytes.
func (b bzip2Codec) DecompressBounded(block []byte, limit int64) ([]byte, error) {
	r, err := b.NewReader(bytes.NewReader(block))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("more than %d bytes, which a task may use: give executors more memory", limit)
	}
	return data, err
}

// Close does nothing.
func (bzip2Codec) Close() error { return nil }
