package compression

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/pierrec/lz4/v4"
)

// The framing of Hadoop's BlockCompressorStream, as
// org.apache.hadoop.io.compress.BlockDecompressorStream reads it:
//
//	stream = block*
//	block  = uncompressed length of the block, chunks that contain that many bytes in total
//	chunk  = compressed length of the chunk, compressed bytes
//
// Lengths are signed 4-byte integers, big-endian. A stream without content is one block of
// length 0.

// blockContent is the uncompressed size in bytes of the blocks that blockWriter writes. A block
// must fit into the buffers of Hadoop's readers: by default 256 KiB for a compressed chunk and
// 256 KiB for its content (io.compression.codec.snappy.buffersize,
// io.compression.codec.lz4.buffersize).
const blockContent = 128 << 10

// lz4Frame is the magic number of files that the command lz4 writes. blockReader finds it where a
// file of Hadoop has the length of its first block. Hadoop cannot read files of the command.
const lz4Frame = 0x04224d18

// blockReader reads the content of a stream of blocks.
type blockReader struct {
	in *bufio.Reader
	// decode returns the decompressed content of a chunk, in dst if the content fits there. It
	// fails if the content has more than limit bytes.
	decode  func(dst, chunk []byte, limit int) ([]byte, error)
	chunk   bytes.Buffer
	buffer  []byte // argument dst of decode
	content []byte // the unread rest of the current chunk's content
	left    int    // bytes of the current block's content that later chunks contain
	err     error
}

func (b *blockReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(b.content) == 0 {
		if b.err == nil {
			b.err = b.next()
		}
		if b.err != nil {
			return 0, b.err
		}
	}
	n := copy(p, b.content)
	b.content = b.content[n:]
	return n, nil
}

// next decompresses the next chunk into b.content. It returns io.EOF after the last block.
func (b *blockReader) next() error {
	for b.left == 0 {
		length, err := b.length()
		if err != nil {
			return err
		}
		if length == lz4Frame {
			return errors.New("it is in the format of the command lz4: want blocks as Hadoop's Lz4Codec writes them")
		}
		b.left = length
	}
	length, err := b.length()
	if err != nil {
		return noEOF(err)
	}
	b.chunk.Reset()
	// The buffer grows as bytes arrive, so that a damaged length does not cause a large
	// allocation.
	if _, err := io.CopyN(&b.chunk, b.in, int64(length)); err != nil {
		return noEOF(err)
	}
	b.content, err = b.decode(b.buffer[:cap(b.buffer)], b.chunk.Bytes(), b.left)
	if err != nil {
		return fmt.Errorf("a damaged chunk: %w", err)
	}
	if len(b.content) == 0 || len(b.content) > b.left {
		return fmt.Errorf("a damaged chunk: its content is %d bytes, and %d are left of its block", len(b.content), b.left)
	}
	b.left -= len(b.content)
	b.buffer = b.content
	return nil
}

// length reads a length. It returns io.EOF at the end of the stream.
func (b *blockReader) length() (int, error) {
	var encoded [4]byte
	if _, err := io.ReadFull(b.in, encoded[:]); err != nil {
		return 0, err
	}
	length := int32(binary.BigEndian.Uint32(encoded[:]))
	if length < 0 {
		return 0, fmt.Errorf("the length of a block is %d: it is damaged, or not in blocks as Hadoop's codecs write them", length)
	}
	return int(length), nil
}

// blockWriter writes blocks that have one chunk each.
type blockWriter struct {
	out     io.Writer
	encode  func(dst, content []byte) (int, error)
	content []byte
	block   []byte // buffer for two lengths and the largest chunk
	written bool   // whether a block was written
	err     error
}

func newBlockWriter(w io.Writer, largest int, encode func(dst, content []byte) (int, error)) *blockWriter {
	return &blockWriter{out: w, encode: encode, content: make([]byte, 0, blockContent), block: make([]byte, 8+largest)}
}

func (b *blockWriter) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 && b.err == nil {
		n := min(len(p), blockContent-len(b.content))
		b.content = append(b.content, p[:n]...)
		if len(b.content) == blockContent {
			b.err = b.flush()
		}
		p = p[n:]
		written += n
	}
	return written, b.err
}

// Close writes the last block. If no content was written, the block is empty. Close does not
// close the underlying writer.
func (b *blockWriter) Close() error {
	if b.err != nil {
		return b.err
	}
	switch {
	case len(b.content) > 0:
		b.err = b.flush()
	case !b.written:
		_, b.err = b.out.Write(make([]byte, 4))
	}
	if err := b.err; err != nil {
		return err
	}
	b.err = errors.New("the compressed stream was closed")
	return nil
}

func (b *blockWriter) flush() error {
	n, err := b.encode(b.block[8:], b.content)
	if err != nil {
		return err
	}
	binary.BigEndian.PutUint32(b.block, uint32(len(b.content)))
	binary.BigEndian.PutUint32(b.block[4:], uint32(n))
	b.content, b.written = b.content[:0], true
	_, err = b.out.Write(b.block[:8+n])
	return err
}

func openSnappy(r io.Reader) (io.Reader, func(), error) {
	return &blockReader{in: bufio.NewReader(r), decode: decodeSnappy}, nil, nil
}

// snappyRatio is an upper limit of snappy's compression ratio: a copy takes at least two bytes
// and produces at most 64 bytes of content.
const snappyRatio = 64

func decodeSnappy(dst, chunk []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(chunk)
	if err != nil {
		return nil, err
	}
	if n > limit || n > snappyRatio*len(chunk) {
		return nil, fmt.Errorf("its content would be %d bytes", n)
	}
	return s2.Decode(dst, chunk)
}

func createSnappy(w io.Writer) (io.WriteCloser, error) {
	return newBlockWriter(w, s2.MaxEncodedLen(blockContent), func(dst, content []byte) (int, error) {
		return len(s2.EncodeSnappy(dst, content)), nil
	}), nil
}

func openLZ4(r io.Reader) (io.Reader, func(), error) {
	return &blockReader{in: bufio.NewReader(r), decode: decodeLZ4}, nil, nil
}

// lz4Ratio is an upper limit of LZ4's compression ratio: a byte that extends the length of a
// match adds at most 255 bytes of content.
const lz4Ratio = 255

// decodeLZ4 decompresses a chunk. Chunks do not contain their uncompressed size, so decodeLZ4
// tries buffers of increasing size, up to limit.
func decodeLZ4(dst, chunk []byte, limit int) ([]byte, error) {
	limit = min(limit, lz4Ratio*len(chunk)+blockContent)
	for size := min(limit, max(len(dst), 2*blockContent)); ; size = min(limit, 2*size) {
		if size > len(dst) {
			dst = make([]byte, size)
		}
		n, err := lz4.UncompressBlock(chunk, dst[:size])
		if err == nil {
			return dst[:n], nil
		}
		if size == limit {
			return nil, err
		}
	}
}

func createLZ4(w io.Writer) (io.WriteCloser, error) {
	var compressor lz4.Compressor
	return newBlockWriter(w, lz4.CompressBlockBound(blockContent), func(dst, content []byte) (int, error) {
		return compressor.CompressBlock(content, dst)
	}), nil
}
