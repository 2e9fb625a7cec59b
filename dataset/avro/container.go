package avro

import (
	"errors"
	"fmt"
	"io"

	twmb "github.com/twmb/avro"
	"github.com/twmb/avro/ocf"

	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/internal/syncmark"
)

// container reads the blocks of a container file that belong to a range of the file. The
// file has a header with the schema, the codec and a random marker, and then blocks. A
// block has the number of records, the size of the records in bytes, the records, and the
// marker again. See "Object Container Files" in Avro's specification.
type container struct {
	in     *syncmark.Reader
	schema *twmb.Schema
	codec  codec
	marker syncmark.Marker
	end    int64  // blocks after a marker that begins here or later are not read
	limit  int64  // largest size in bytes of a block, compressed or not
	stored []byte // buffer for a block as it is stored
}

// block is a block of records.
type block struct {
	offset  int64  // in the file
	records int64  // number of records that are not decoded yet
	data    []byte // bytes of the records that are not decoded yet
}

// codec decompresses blocks. DecompressBounded fails if the content of a block has more
// than limit bytes.
type codec interface {
	DecompressBounded(block []byte, limit int64) ([]byte, error)
	Close() error
}

// openContainer returns a reader of the blocks of a file that belong to the range from
// offset to end. As in Avro's DataFileReader, a block belongs to the range in which the
// marker before the block begins. The file must be at its beginning, and has size bytes.
// Reading fails if a block has more than limit bytes.
func openContainer(file io.ReadSeeker, size, offset, end, limit int64) (*container, error) {
	c := &container{in: syncmark.NewReader(file, size), end: end, limit: limit}
	if err := c.readHeader(); err != nil {
		return nil, fmt.Errorf("the header of the Avro file: %w", err)
	}
	if offset <= c.in.Position()-syncmark.Size {
		return c, nil // the next block is the file's first
	}
	err := c.in.SeekTo(offset)
	if err == nil {
		var found bool
		if found, err = c.in.SkipPast(c.marker, end); !found {
			c.end = 0 // no block belongs to the range
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *container) close() { _ = c.codec.Close() }

// maxHeader is the largest size in bytes of a key or value in a header.
const maxHeader = 16 << 20

func (c *container) readHeader() error {
	magic, err := c.in.Bytes(min(4, c.in.Left()), nil)
	if err != nil {
		return err
	}
	if string(magic) != "Obj\x01" {
		return dataset.Malformed(fmt.Errorf("it begins with the bytes %q, no Avro file does", magic))
	}
	metadata := map[string][]byte{}
	for {
		pairs, err := c.number()
		if err != nil {
			return err
		}
		if pairs < 0 { // the size in bytes follows
			if _, err := c.number(); err != nil {
				return err
			}
			pairs = max(-pairs, 0)
		}
		if pairs == 0 {
			break
		}
		for ; pairs > 0; pairs-- {
			key, err := c.bytes(maxHeader)
			if err != nil {
				return err
			}
			value, err := c.bytes(maxHeader)
			if err != nil {
				return err
			}
			metadata[string(key)] = value
		}
	}
	marker, err := c.in.Bytes(syncmark.Size, nil)
	if err != nil {
		return damaged(err)
	}
	c.marker = syncmark.Marker(marker)
	if c.schema, err = twmb.Parse(string(metadata["avro.schema"]), laxNames); err != nil {
		return dataset.Malformed(fmt.Errorf("its schema: %w", err))
	}
	c.codec, err = codecOf(string(metadata["avro.codec"]))
	return err
}

// number reads an integer in Avro's encoding: zigzag, with seven bits in each byte, the
// lowest bits first.
func (c *container) number() (int64, error) {
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := c.in.ReadByte()
		if err != nil {
			return 0, damaged(err)
		}
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return int64(n>>1) ^ -int64(n&1), nil
		}
	}
	return 0, dataset.Malformed(errors.New("a number has more than ten bytes"))
}

// bytes reads a length, which must be at most limit, and then as many bytes.
func (c *container) bytes(limit int64) ([]byte, error) {
	n, err := c.number()
	if err != nil {
		return nil, err
	}
	if n < 0 || n > limit {
		return nil, dataset.Malformed(fmt.Errorf("a part of it has %d bytes, not 0 to %d", n, limit))
	}
	p, err := c.in.Bytes(n, nil)
	return p, damaged(err)
}

// damaged returns err, wrapped by dataset.Malformed if the file ended too early.
func damaged(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return dataset.Malformed(err)
	}
	return err
}

// maxEmptyRecords is the largest number of records in a block that has fewer bytes than
// records. Such blocks are valid, because records without bytes exist: all their fields
// have the type null.
const maxEmptyRecords = 1 << 16

// next returns the next block. After the last block it returns io.EOF.
func (c *container) next() (*block, error) {
	b := &block{offset: c.in.Position()}
	if b.offset-syncmark.Size >= c.end || c.in.AtEnd() {
		return nil, io.EOF
	}
	err := c.read(b)
	if err != nil {
		err = fmt.Errorf("the block at byte %d: %w", b.offset, err)
	}
	return b, err
}

func (c *container) read(b *block) (err error) {
	if b.records, err = c.number(); err != nil {
		return err
	}
	size, err := c.number()
	if err != nil {
		return err
	}
	if b.records < 0 || size < 0 {
		return dataset.Malformed(fmt.Errorf("%d records in %d bytes", b.records, size))
	}
	if size > c.limit {
		return dataset.Malformed(fmt.Errorf("%d bytes are more than the %d that a task may use: give executors more memory", size, c.limit))
	}
	if c.stored, err = c.in.Bytes(size, c.stored); err != nil {
		return damaged(err)
	}
	same, err := c.in.Expect(c.marker)
	if err != nil {
		return damaged(err)
	}
	if !same {
		return dataset.Malformed(errors.New("no sync marker follows: the file is damaged"))
	}
	if b.data, err = c.codec.DecompressBounded(c.stored, c.limit); err != nil {
		return dataset.Malformed(err)
	}
	if b.records > int64(max(len(b.data), maxEmptyRecords)) {
		return dataset.Malformed(fmt.Errorf("%d records in %d bytes", b.records, len(b.data)))
	}
	return nil
}

// decode decodes the next record of a block into target.
func (b *block) decode(schema *twmb.Schema, target any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = dataset.Malformed(fmt.Errorf("the block at byte %d: a record, %d before the last: %v", b.offset, b.records-1, p))
		}
	}()
	if b.data, err = schema.Decode(b.data, target); err != nil {
		return dataset.Malformed(fmt.Errorf("the block at byte %d: a record, %d before the last: %w", b.offset, b.records-1, explainNull(err)))
	}
	if b.records--; b.records == 0 && len(b.data) > 0 {
		return dataset.Malformed(fmt.Errorf("the block at byte %d has %d bytes more than its records", b.offset, len(b.data)))
	}
	return nil
}

// codecOf returns the codec with the given name in the headers of files.
func codecOf(name string) (codec, error) {
	var c ocf.Codec
	switch name {
	case "", "null":
		return nullCodec{}, nil
	case "bzip2":
		return newBzip2Codec()
	case "deflate":
		c = ocf.DeflateCodec(0)
	case "snappy":
		c = ocf.SnappyCodec()
	case "zstandard":
		var err error
		if c, err = ocf.ZstdCodec(nil, nil); err != nil {
			return nil, err
		}
	}
	if bounded, ok := c.(codec); ok {
		return bounded, nil
	}
	return nil, dataset.Malformed(fmt.Errorf("the codec %q is not supported: write the file with deflate, snappy, zstandard, bzip2 or null", name))
}

type nullCodec struct{}

func (nullCodec) DecompressBounded(block []byte, _ int64) ([]byte, error) { return block, nil }
func (nullCodec) Close() error                                            { return nil }
