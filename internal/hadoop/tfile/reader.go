// Package tfile reads TFiles, Hadoop's file format for keys and values in
// compressed blocks, from the first record to the last. NodeManagers write
// aggregated container logs in this format.
//
// The format is that of TFile.java, BCFile.java, Chunk.java, Utils.java and
// Compression.java of org.apache.hadoop.io.file.tfile in Hadoop 3.
//
// A file consists of a magic number, data blocks, meta blocks, the index of the meta
// blocks, and a trailer: the position of that index in 8 bytes, a version, and the magic
// number again. The meta block BCFile.index lists the data blocks. A data block contains
// records. A record is the length of its key, the key, and the value in chunks. Each
// chunk is preceded by its length, which is negative if another chunk follows.
package tfile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// magic is at the start and the end of a TFile.
var magic = []byte{0xd1, 0x11, 0xd3, 0x68, 0x91, 0xb5, 0xd7, 0xb6, 0x39, 0xdf, 0x41, 0x40, 0x92, 0xba, 0xe1, 0x50}

const (
	majorVersion = 1
	trailerSize  = 8 + 4 + 16 // bytes at the end: position of the index, version, magic number
	// maxIndex is the largest accepted index in bytes. The indexes of real files are far
	// smaller.
	maxIndex = 16 << 20
	maxKey   = 64 << 10 // largest key in bytes

	dataIndexName  = "BCFile.index"
	metaName       = "TFile.meta"
	metaNamePrefix = "data:"
)

// ErrFormat means that a file is not a TFile, is damaged, or is incomplete. Errors that wrap
// ErrFormat name the part of the file.
var ErrFormat = errors.New("not a whole TFile")

// Reader reads one TFile. It is not safe for concurrent use.
type Reader struct {
	file        io.ReaderAt
	size        int64
	compression string
	blocks      []region
	records     int64

	next  int           // number of the next block
	block *bufio.Reader // the block being read; nil if the next one must be opened
	value *value        // the value of the record that Next returned last
	err   error         // if not nil, the error that every call of Next returns
}

// region is a block's offset and compressed size in the file, and its uncompressed size (raw),
// in bytes.
type region struct{ offset, compressed, raw int64 }

// Is reports whether a file that begins with head may be a TFile. head must have at least
// 16 bytes.
func Is(head []byte) bool { return bytes.HasPrefix(head, magic) }

// NewReader returns a reader of a TFile. size is the file's size in bytes. NewReader reads
// the file's indexes, and fails with ErrFormat if the file is not a TFile or was not completed.
func NewReader(file io.ReaderAt, size int64) (*Reader, error) {
	r := &Reader{file: file, size: size}
	if err := r.readIndexes(); err != nil {
		return nil, failed("its index", err)
	}
	return r, nil
}

// failed prefixes err with what, the part of the file that could not be read. The result wraps
// ErrFormat, except if err is a brokenFile.
func failed(what string, err error) error {
	var broken *brokenFile
	if errors.As(err, &broken) {
		return fmt.Errorf("%s: %w", what, broken.err)
	}
	return fmt.Errorf("%w: %s: %w", ErrFormat, what, err)
}

// brokenFile is an error of reading the underlying file. It does not mean that the format is
// wrong.
type brokenFile struct{ err error }

func (b *brokenFile) Error() string { return b.err.Error() }

// section reads a part of the file, and wraps the file's errors in brokenFile.
type section struct{ io.SectionReader }

func (s *section) Read(p []byte) (int, error) {
	n, err := s.SectionReader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &brokenFile{err}
	}
	return n, err
}

func (r *Reader) section(offset, length int64) io.Reader {
	return &section{*io.NewSectionReader(r.file, offset, length)}
}

func (r *Reader) readIndexes() error {
	if r.size < int64(len(magic))+trailerSize {
		return fmt.Errorf("%d bytes are too few", r.size)
	}
	var trailer [trailerSize]byte
	if _, err := io.ReadFull(r.section(r.size-trailerSize, trailerSize), trailer[:]); err != nil {
		return unexpected(err)
	}
	if !bytes.Equal(trailer[12:], magic) {
		return errors.New("it does not end as a TFile does")
	}
	if major := binary.BigEndian.Uint16(trailer[8:]); major != majorVersion {
		return fmt.Errorf("its version is %d, not %d", major, majorVersion)
	}
	at := int64(binary.BigEndian.Uint64(trailer[:]))
	if at < int64(len(magic)) || at > r.size-trailerSize {
		return fmt.Errorf("its index is said to be at %d of %d bytes", at, r.size)
	}
	metas, err := readMetaIndex(bufio.NewReader(r.section(at, min(r.size-trailerSize-at, maxIndex))))
	if err != nil {
		return fmt.Errorf("at %d: %w", at, err)
	}
	if err := r.readDataIndex(metas); err != nil {
		return fmt.Errorf("%s: %w", dataIndexName, err)
	}
	if err := r.readMeta(metas); err != nil {
		return fmt.Errorf("%s: %w", metaName, err)
	}
	return nil
}

// metaBlock is the compression and the position of a meta block.
type metaBlock struct {
	compression string
	region
}

func readMetaIndex(index source) (map[string]metaBlock, error) {
	count, err := readLength(index, maxIndex)
	if err != nil {
		return nil, err
	}
	metas := map[string]metaBlock{}
	for range count {
		name, err := readText(index)
		if err != nil {
			return nil, err
		}
		var block metaBlock
		if block.compression, err = readText(index); err != nil {
			return nil, err
		}
		if block.region, err = readRegion(index); err != nil {
			return nil, err
		}
		if len(name) < len(metaNamePrefix) || name[:len(metaNamePrefix)] != metaNamePrefix {
			return nil, fmt.Errorf("a meta block is called %q", name)
		}
		metas[name[len(metaNamePrefix):]] = block
	}
	return metas, nil
}

func readRegion(index source) (r region, err error) {
	for _, field := range []*int64{&r.offset, &r.compressed, &r.raw} {
		if *field, err = readVLong(index); err != nil {
			return r, unexpected(err)
		}
		if *field < 0 {
			return r, fmt.Errorf("a block has the offset, size or length %d", *field)
		}
	}
	return r, nil
}

func (r *Reader) readDataIndex(metas map[string]metaBlock) error {
	block, ok := metas[dataIndexName]
	if !ok {
		return errors.New("there is none")
	}
	index, err := r.open(block.compression, block.region)
	if err != nil {
		return err
	}
	bounded := bufio.NewReader(io.LimitReader(index, maxIndex))
	if r.compression, err = readText(bounded); err != nil {
		return unexpected(err)
	}
	count, err := readLength(bounded, maxIndex)
	if err != nil {
		return unexpected(err)
	}
	for range count {
		one, err := readRegion(bounded)
		if err != nil {
			return err
		}
		r.blocks = append(r.blocks, one)
	}
	return nil
}

func (r *Reader) readMeta(metas map[string]metaBlock) error {
	block, ok := metas[metaName]
	if !ok {
		return errors.New("there is none")
	}
	opened, err := r.open(block.compression, block.region)
	if err != nil {
		return err
	}
	meta := bufio.NewReader(opened)
	major, minor, err := readVersion(meta)
	if err != nil {
		return err
	}
	if major != majorVersion {
		return fmt.Errorf("its version is %d.%d, not %d", major, minor, majorVersion)
	}
	if r.records, err = readVLong(meta); err != nil {
		return unexpected(err)
	}
	return nil
}

// open returns a reader of a block's decompressed content.
func (r *Reader) open(compression string, block region) (io.Reader, error) {
	if end := block.offset + block.compressed; end < block.offset || end > r.size {
		return nil, fmt.Errorf("a block of %d bytes at %d is beyond the end at %d", block.compressed, block.offset, r.size)
	}
	return Decompress(compression, r.section(block.offset, block.compressed), block.raw)
}

// Compression returns the compression of the data blocks: "none" or "gz".
func (r *Reader) Compression() string { return r.compression }

// Records returns the number of records that the file's index states.
func (r *Reader) Records() int64 { return r.records }

// Next returns the next record, or io.EOF after the last record. key and content are valid
// until the next call, which skips the rest of content. Next fails with ErrFormat if the file
// is damaged.
func (r *Reader) Next() (key []byte, content io.Reader, err error) {
	if r.err != nil {
		return nil, nil, r.err
	}
	if key, r.err = r.nextKey(); r.err != nil {
		return nil, nil, r.err
	}
	r.value = &value{block: r.block, where: fmt.Sprintf("block %d", r.next-1)}
	return key, r.value, nil
}

// Block returns the number, from 0, of the block that contains the record that Next returned
// last.
func (r *Reader) Block() int { return r.next - 1 }

// Seek makes Next return the first record of the block with the given number, from 0.
func (r *Reader) Seek(block int) error {
	if block < 0 || block >= len(r.blocks) {
		return fmt.Errorf("the TFile has %d blocks, and no block %d", len(r.blocks), block)
	}
	r.next, r.block, r.value, r.err = block, nil, nil, nil
	return nil
}

func (r *Reader) nextKey() ([]byte, error) {
	if r.value != nil {
		if _, err := io.Copy(io.Discard, r.value); err != nil {
			return nil, err // err names the block
		}
	}
	for {
		if r.block == nil {
			if r.next == len(r.blocks) {
				return nil, io.EOF
			}
			opened, err := r.open(r.compression, r.blocks[r.next])
			if err != nil {
				return nil, failed(fmt.Sprintf("block %d", r.next), err)
			}
			r.block = bufio.NewReader(opened)
			r.next++
		}
		_, err := r.block.Peek(1)
		if errors.Is(err, io.EOF) {
			r.block = nil
			continue
		}
		var length int
		if err == nil {
			length, err = readLength(r.block, maxKey)
		}
		var key []byte
		if err == nil {
			key = make([]byte, length)
			_, err = io.ReadFull(r.block, key)
		}
		if err != nil {
			return nil, failed(fmt.Sprintf("a key in block %d", r.next-1), unexpected(err))
		}
		return key, nil
	}
}

// value is a reader of the chunks of one value.
type value struct {
	block *bufio.Reader
	where string
	left  int64 // bytes left in the current chunk
	last  bool  // the current chunk is the value's last
	err   error
}

func (v *value) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = failed("a value in "+v.where, err)
	}
	v.err = err
	return n, err
}

func (v *value) read(p []byte) (int, error) {
	for v.left == 0 {
		if v.last {
			return 0, io.EOF
		}
		length, err := readVLong(v.block)
		if err != nil {
			return 0, unexpected(err)
		}
		if v.last = length >= 0; !v.last {
			length = -length
		}
		if length < 0 {
			return 0, fmt.Errorf("a chunk of %d bytes", length)
		}
		v.left = length
	}
	n, err := v.block.Read(p[:min(int64(len(p)), v.left)])
	v.left -= int64(n)
	if v.left > 0 || n == 0 {
		err = unexpected(err)
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
