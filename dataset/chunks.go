package dataset

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/bobbin-yarn/bobbin/storage"
)

// A chunk is the length of the stored bytes and their CRC32C, 4 bytes each, big-endian,
// and the stored bytes: elements, each with its length before it, compressed as an S2
// block.
const (
	chunkHeader = 8
	chunkBytes  = 256 << 10 // least size of a chunk before compression, but for a partition's last
	maxChunk    = 1 << 30   // most bytes before compression
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errDamaged = errors.New("it is damaged: remove the checkpoint, and make it again")

// chunkWriter writes elements in chunks.
type chunkWriter struct {
	out               io.Writer
	elements, encoded []byte
	written           int64 // bytes of chunks
}

func (w *chunkWriter) add(element []byte) error {
	w.elements = append(binary.AppendUvarint(w.elements, uint64(len(element))), element...)
	if len(w.elements) < chunkBytes {
		return nil
	}
	return w.flush()
}

// flush writes the elements that were added since the last chunk.
func (w *chunkWriter) flush() error {
	if len(w.elements) == 0 {
		return nil
	}
	if len(w.elements) > maxChunk {
		return permanentError{fmt.Errorf("an element of %d bytes is too large for a checkpoint", len(w.elements))}
	}
	w.encoded = slices.Grow(w.encoded[:0], chunkHeader+s2.MaxEncodedLen(len(w.elements)))[:chunkHeader]
	stored := s2.Encode(w.encoded[chunkHeader:cap(w.encoded)], w.elements)
	binary.BigEndian.PutUint32(w.encoded, uint32(len(stored)))
	binary.BigEndian.PutUint32(w.encoded[4:], crc32.Checksum(stored, castagnoli))
	w.elements = w.elements[:0]
	n, err := w.out.Write(w.encoded[:chunkHeader+len(stored)])
	w.written += int64(n)
	return err
}

// chunkReader reads the chunks of a partition.
type chunkReader struct {
	input            io.Reader
	left             int64 // bytes of the partition that were not read
	stored, elements []byte
}

// next returns the elements of the next chunk, which are valid until it is called again.
// It fails with io.EOF at the end of the partition.
func (r *chunkReader) next() ([]byte, error) {
	if r.left == 0 {
		return nil, io.EOF
	}
	header, err := r.read(chunkHeader)
	if err != nil {
		return nil, err
	}
	size, sum := binary.BigEndian.Uint32(header), binary.BigEndian.Uint32(header[4:])
	stored, err := r.read(int64(size))
	if err != nil {
		return nil, err
	}
	if n, err := s2.DecodedLen(stored); err != nil || n > maxChunk || crc32.Checksum(stored, castagnoli) != sum {
		return nil, errDamaged
	}
	if r.elements, err = s2.Decode(r.elements[:cap(r.elements)], stored); err != nil {
		return nil, errDamaged
	}
	return r.elements, nil
}

// read reads n bytes, which are valid until the next read.
func (r *chunkReader) read(n int64) ([]byte, error) {
	if r.left -= n; r.left < 0 {
		return nil, errDamaged
	}
	r.stored = slices.Grow(r.stored[:0], int(n))[:n]
	_, err := io.ReadFull(r.input, r.stored)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errDamaged
	}
	return r.stored, err
}

// readChunks passes the elements of a partition of a checkpoint to visit, until visit
// returns false or an error. An element is valid until visit returns.
func readChunks(ctx context.Context, split storage.Split, visit func(element []byte) (more bool, err error)) (err error) {
	if split.Length == 0 {
		return nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", split, err)
		}
		if errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
			err = permanentError{err}
		}
	}()
	file, err := storage.From(ctx).Open(ctx, split.Path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	if _, err := file.Seek(split.Offset, io.SeekStart); err != nil {
		return err
	}
	r := chunkReader{input: bufio.NewReaderSize(file, int(min(split.Length, chunkBytes))), left: split.Length}
	for {
		elements, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for element, err := range elementsOf(elements) {
			if err != nil {
				return err
			}
			if more, err := visit(element); !more || err != nil {
				return err
			}
		}
	}
}
