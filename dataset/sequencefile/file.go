package sequencefile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/compression"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/writable"
	"github.com/bobbin-yarn/bobbin/internal/syncmark"
)

// file reads the records of a SequenceFile that belong to a byte range of the file. Version
// 6 of the format of class org.apache.hadoop.io.SequenceFile has these parts:
//
//	header   "SEQ" 6, classes of keys and values, whether values and blocks are compressed,
//	         the codec's class if so, metadata, marker
//	record   length, length of the key, key, value; the value alone may be compressed
//	sync     -1, marker; before some records, and before each block
//	block    number of records; lengths of keys, keys, lengths of values, values, each
//	         compressed, with its length before it
//
// Numbers have 4 bytes, or a variable length within blocks. A sync belongs to the range in
// which it begins; the records up to the next sync belong to the same range. The records
// before the first sync belong to the range at offset 0.
type file struct {
	in         *syncmark.Reader
	keyClass   string
	valueClass string
	compressed bool // single values or whole blocks are compressed
	blocks     bool // records are in blocks
	codec      compression.Codec
	marker     syncmark.Marker
	end        int64 // end of the range
	limit      int64 // largest size in bytes of a record, or of a part of a block

	afterSync bool   // a sync has been read, but not the block after it
	data      []byte // buffer for a record
	value     []byte // buffer for a decompressed value
	block     block
}

// escape marks a sync. It is written where a record has its length.
const escape = -1

// openFile returns a reader of the records that belong to the byte range [offset, end) of a
// file. The position of source must be the beginning of the file, which has size bytes.
// Reading fails if a record, or a part of a block, has more than limit bytes.
func openFile(source io.ReadSeeker, size, offset, end, limit int64) (*file, error) {
	f := &file{in: syncmark.NewReader(source, size), end: end, limit: limit}
	if err := f.readHeader(); err != nil {
		return nil, fmt.Errorf("the header of the SequenceFile: %w", damaged(err))
	}
	if offset == 0 {
		return f, nil
	}
	if err := f.in.SeekTo(max(offset+4, f.in.Position())); err != nil {
		return nil, err
	}
	var err error
	if f.afterSync, err = f.in.SkipPast(f.marker, end+4); err == nil && !f.afterSync {
		f.in, f.end = syncmark.NewReader(source, 0), 0 // no record belongs to the range
	}
	return f, err
}

// maxText is the largest size in bytes of a string in a header.
const maxText = 1 << 20

func (f *file) readHeader() error {
	begin, err := f.in.Bytes(min(4, f.in.Left()), nil)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(begin, []byte("SEQ")) || len(begin) < 4 {
		return dataset.Malformed(fmt.Errorf("it begins with the bytes %q, no SequenceFile does", begin))
	}
	if version := begin[3]; version != 6 {
		return dataset.Malformed(fmt.Errorf("it has version %d, not 6: write it again with Hadoop", version))
	}
	if f.keyClass, err = f.text(); err != nil {
		return err
	}
	if f.valueClass, err = f.text(); err != nil {
		return err
	}
	flags, err := f.in.Bytes(2, nil)
	if err != nil {
		return err
	}
	f.compressed, f.blocks = flags[0] != 0, flags[1] != 0
	if f.blocks && !f.compressed {
		return dataset.Malformed(errors.New("its blocks are not compressed: it is damaged"))
	}
	if f.compressed {
		class, err := f.text()
		if err != nil {
			return err
		}
		if f.codec, err = compression.ByClass(class); err != nil {
			return dataset.Malformed(err)
		}
	}
	pairs, err := f.int32()
	if err != nil {
		return err
	}
	for range 2 * max(int64(pairs), 0) {
		if _, err := f.text(); err != nil {
			return err
		}
	}
	marker, err := f.in.Bytes(syncmark.Size, nil)
	if err == nil {
		f.marker = syncmark.Marker(marker)
	}
	return err
}

// text reads a length and a string of this length.
func (f *file) text() (string, error) {
	n, err := writable.ReadVInt(f.in)
	if err != nil {
		return "", err
	}
	if n < 0 || n > maxText {
		return "", dataset.Malformed(fmt.Errorf("a string has %d bytes, not 0 to %d", n, maxText))
	}
	content, err := f.in.Bytes(n, nil)
	return string(content), err
}

func (f *file) int32() (int32, error) {
	var buffer [4]byte
	b, err := f.in.Bytes(4, buffer[:])
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(b)), nil
}

// damaged returns err, wrapped by dataset.Malformed if the file ended too early.
func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return dataset.Malformed(err)
	}
	return err
}

// next returns the next record of the range, valid until the next call. After the last
// record it returns io.EOF.
func (f *file) next() (key, value []byte, err error) {
	if f.blocks && f.block.records > 0 {
		return f.block.next()
	}
	for {
		at := f.in.Position()
		if f.in.AtEnd() {
			return nil, nil, io.EOF
		}
		sync := f.afterSync
		f.afterSync = false
		if !sync || !f.blocks {
			key, value, sync, err = f.record(at)
		}
		if sync && f.blocks && err == nil {
			if err = f.readBlock(); err == nil && f.block.records > 0 {
				return f.block.next()
			}
		}
		if err == io.EOF {
			return nil, nil, io.EOF
		}
		if err != nil {
			return nil, nil, fmt.Errorf("the record at byte %d: %w", at, damaged(err))
		}
		if !sync {
			return key, value, nil
		}
	}
}

// record reads a record or a sync; at is the offset at which it begins. sync reports whether
// it was a sync. If a sync begins after the range, record returns io.EOF.
func (f *file) record(at int64) (key, value []byte, sync bool, err error) {
	length, err := f.int32()
	if err != nil {
		return nil, nil, false, err
	}
	if length == escape {
		if at >= f.end {
			return nil, nil, false, io.EOF
		}
		same, err := f.in.Expect(f.marker)
		if err == nil && !same {
			err = errNoMarker
		}
		return nil, nil, true, err
	}
	if f.blocks {
		return nil, nil, false, errNoMarker
	}
	keyLength, err := f.int32()
	if err != nil {
		return nil, nil, false, err
	}
	if keyLength < 0 || length < keyLength {
		return nil, nil, false, dataset.Malformed(fmt.Errorf("it has %d bytes, its key %d", length, keyLength))
	}
	if int64(length) > f.limit {
		return nil, nil, false, f.tooLarge(int64(length))
	}
	if f.data, err = f.in.Bytes(int64(length), f.data); err != nil {
		return nil, nil, false, err
	}
	key, value = f.data[:keyLength], f.data[keyLength:]
	if f.compressed {
		f.value, err = f.decompress(value, f.value)
		value = f.value
	}
	return key, value, false, err
}

var errNoMarker = dataset.Malformed(errors.New("no sync marker is there: the file is damaged"))

func (f *file) tooLarge(size int64) error {
	return dataset.Malformed(fmt.Errorf("%d bytes are more than the %d that a task may use: give executors more memory", size, f.limit))
}

// decompress returns the decompressed content of compressed. It uses the memory of buffer
// if buffer is large enough.
func (f *file) decompress(compressed, buffer []byte) ([]byte, error) {
	buffer = buffer[:0]
	if len(compressed) == 0 {
		return buffer, nil
	}
	content, err := f.codec.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return buffer, dataset.Malformed(err)
	}
	defer content.Close()
	for {
		if len(buffer) == cap(buffer) {
			buffer = append(buffer, 0)[:len(buffer)]
		}
		n, err := content.Read(buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		switch {
		case int64(len(buffer)) > f.limit:
			return buffer, f.tooLarge(int64(len(buffer)))
		case err == io.EOF:
			return buffer, nil
		case err != nil:
			return buffer, dataset.Malformed(err)
		}
	}
}

// block is a decompressed block.
type block struct {
	records              int64 // number of records that next has not returned yet
	keyLengths, keys     []byte
	valueLengths, values []byte
	stored               []byte    // buffer for a compressed part
	buffers              [4][]byte // buffers for the four decompressed parts
}

// readBlock reads the block that follows a sync.
func (f *file) readBlock() error {
	b := &f.block
	records, err := writable.ReadVInt(f.in)
	if err != nil {
		return err
	}
	for i := range b.buffers {
		length, err := writable.ReadVInt(f.in)
		if err != nil {
			return err
		}
		if length > f.limit {
			return f.tooLarge(length)
		}
		if b.stored, err = f.in.Bytes(length, b.stored); err != nil {
			return err
		}
		if b.buffers[i], err = f.decompress(b.stored, b.buffers[i]); err != nil {
			return err
		}
	}
	b.keyLengths, b.keys, b.valueLengths, b.values = b.buffers[0], b.buffers[1], b.buffers[2], b.buffers[3]
	if records < 0 || records > int64(len(b.keyLengths)) || records > int64(len(b.valueLengths)) {
		return dataset.Malformed(fmt.Errorf("the block has %d records, with lengths in %d and %d bytes", records, len(b.keyLengths), len(b.valueLengths)))
	}
	b.records = records
	return nil
}

// next returns the next record of the block.
func (b *block) next() (key, value []byte, err error) {
	if key, b.keyLengths, b.keys, err = cutPrefixed(b.keyLengths, b.keys); err == nil {
		value, b.valueLengths, b.values, err = cutPrefixed(b.valueLengths, b.values)
	}
	b.records--
	if err != nil {
		err = dataset.Malformed(fmt.Errorf("a block's record, %d before its last: %w", b.records, err))
	}
	return key, value, err
}

// cutPrefixed returns the first key or value in data; its length is the first number in
// lengths. It also returns the remaining lengths and data.
func cutPrefixed(lengths, data []byte) (part, otherLengths, others []byte, err error) {
	n, lengths, err := writable.VInt(lengths)
	if err != nil {
		return nil, nil, nil, err
	}
	if n < 0 || n > int64(len(data)) {
		return nil, nil, nil, fmt.Errorf("it has %d bytes, but the block has %d", n, len(data))
	}
	return data[:n:n], lengths, data[n:], nil
}
