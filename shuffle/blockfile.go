package shuffle

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/bobbin-yarn/bobbin/block"
)

// blockWriterMemory is how many bytes of memory a BlockWriter uses.
const blockWriterMemory = blockSize + slabSize

// BlockWriter collects records into blocks, which have the format of map outputs, and
// writes the blocks to a file. Only one goroutine may use it.
type BlockWriter struct {
	file   io.Writer
	frames []byte // frames of the block that is being filled
	out    []byte // encoded blocks that are not yet written to the file
	offset int64  // encoded size of all blocks before the one that is being filled
	asIs   int    // how many of the next blocks are not compressed
}

// blocksAsIs is how many blocks a BlockWriter does not try to compress after one that compression
// did not make smaller by a quarter. Such blocks are often similar, and trying costs more than all
// other work on a block.
const blocksAsIs = 15

// NewBlockWriter returns a BlockWriter without records. The caller must call Release.
func NewBlockWriter(file io.Writer) *BlockWriter {
	return &BlockWriter{file: file, frames: getBuffer(blockSize)[:0], out: getBuffer(slabSize)[:0]}
}

// Release frees the memory. After Release, no other method may be called.
func (w *BlockWriter) Release() {
	putBuffer(w.frames)
	putBuffer(w.out)
	w.frames, w.out = nil, nil
}

// Add adds a record, and copies its bytes.
func (w *BlockWriter) Add(key, value []byte) error {
	size := frameSize(key, value)
	if size > maxRecord {
		return fmt.Errorf("a record of %d bytes is too large: the limit is %d", size, maxRecord)
	}
	if len(w.frames)+size <= blockSize {
		w.frames = appendFrame(w.frames, key, value)
		return nil
	}
	return w.add(appendFrame(nil, key, value))
}

// add adds frames, all to the same block. If frames has more than blockSize bytes, it must
// consist of a single frame.
func (w *BlockWriter) add(frames []byte) error {
	if len(w.frames)+len(frames) > blockSize {
		if err := w.endBlock(); err != nil {
			return err
		}
		if len(frames) > blockSize {
			return w.write(frames)
		}
	}
	w.frames = append(w.frames, frames...)
	return nil
}

// EndBlock makes a block of the records that were added since the last block, if there are
// any. It returns the size in bytes of all blocks so far, which is the offset at which the
// next block begins.
func (w *BlockWriter) EndBlock() (offset int64, err error) {
	err = w.endBlock()
	return w.offset, err
}

func (w *BlockWriter) endBlock() error {
	if len(w.frames) == 0 {
		return nil
	}
	err := w.write(w.frames)
	w.frames = w.frames[:0]
	return err
}

func (w *BlockWriter) write(frames []byte) error {
	before := len(w.out)
	w.out = appendBlock(w.out, frames, w.asIs == 0)
	if w.asIs > 0 {
		w.asIs--
	} else if w.out[before+codecOffset] == codecNone {
		w.asIs = blocksAsIs
	}
	w.offset += int64(len(w.out) - before)
	if len(w.out) < blockSize {
		return nil
	}
	return w.flush()
}

// Flush ends the current block and writes all blocks that are not yet in the file.
func (w *BlockWriter) Flush() error { return errors.Join(w.endBlock(), w.flush()) }

func (w *BlockWriter) flush() error {
	_, err := w.file.Write(w.out)
	w.out = w.out[:0]
	return err
}

// ReadBlocks reads length bytes of blocks that a BlockWriter wrote, and yields the records of
// each block. Error messages begin with name. The records of a block are valid until the next
// block's records are yielded. The sequence ends after an error. If the bytes differ from
// those that were written, the error wraps block.ErrDamaged.
func ReadBlocks(input io.Reader, name string, length int64) iter.Seq2[Records, error] {
	return func(yield func(Records, error) bool) {
		r := blockReader{input: bufio.NewReaderSize(input, int(min(length, blockSize))), name: name, left: length}
		var stored, raw []byte
		defer func() { putBuffer(stored); putBuffer(raw) }()
		for {
			records, err := r.next(&stored, &raw)
			if err == io.EOF || !yield(records, err) || err != nil {
				return
			}
		}
	}
}

// blockReader reads consecutive blocks.
type blockReader struct {
	input  *bufio.Reader
	name   string // name of the file or section, for error messages
	offset int64  // offset of the next block from the beginning of the file or section
	left   int64  // number of bytes from offset to the end
	head   [headerSize]byte
}

// header reads the header of the next block. It returns io.EOF if there is none.
func (r *blockReader) header() (header, error) {
	if r.left == 0 {
		return header{}, io.EOF
	}
	if r.left < headerSize {
		return header{}, r.wrapError(fmt.Errorf("%w: only %d bytes of its header are there", block.ErrDamaged, r.left))
	}
	if _, err := io.ReadFull(r.input, r.head[:]); err != nil {
		return header{}, r.wrapError(err)
	}
	h, err := parseHeader(&r.head, r.left-headerSize)
	if err != nil {
		return header{}, r.wrapError(err)
	}
	return h, nil
}

// body reads the stored bytes of a block into the buffer stored, and verifies the block's
// checksum. h is the block's header, which must have been read. The length of stored must be
// h.storedSize.
func (r *blockReader) body(h *header, stored []byte) error {
	if _, err := io.ReadFull(r.input, stored); err != nil {
		return r.wrapError(err)
	}
	if err := h.check(stored); err != nil {
		return r.wrapError(err)
	}
	r.offset += headerSize + int64(h.storedSize)
	r.left -= headerSize + int64(h.storedSize)
	return nil
}

// next reads and decodes the next block. It reads the stored bytes into *stored and
// decompresses them into *raw. It replaces a buffer that is too small by a larger one. It
// returns io.EOF if there are no more blocks.
func (r *blockReader) next(stored, raw *[]byte) (Records, error) {
	h, err := r.header()
	if err != nil {
		return Records{}, err
	}
	if cap(*stored) < h.storedSize {
		putBuffer(*stored)
		*stored = getBuffer(h.storedSize)
	}
	at := r.offset
	if err := r.body(&h, (*stored)[:h.storedSize]); err != nil {
		return Records{}, err
	}
	records, err := h.decode((*stored)[:h.storedSize], raw)
	if err != nil {
		return Records{}, blockError(r.name, at, err)
	}
	return records, nil
}

// wrapError adds the offset of the next block to err. If err means that the file ends too
// early, the returned error also wraps block.ErrDamaged.
func (r *blockReader) wrapError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the file ends before the block does", block.ErrDamaged)
	}
	return blockError(r.name, r.offset, err)
}

func blockError(name string, offset int64, err error) error {
	return fmt.Errorf("%s: block at byte %d: %w", name, offset, err)
}

// create creates a file that only its owner can read. It fails if the file exists.
func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
