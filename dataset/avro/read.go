package avro

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"

	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/storage"
)

// Read returns the records of Avro container files as values of T, which must be a struct.
// The package's documentation describes the types and tags of its fields, and dataset.Text
// describes how path selects files. Files may have the codecs null, deflate, snappy,
// zstandard and bzip2. With any codec, files are split among partitions at sync markers.
func Read[T any](p *dataset.Plan, path string, options ...dataset.ReadOption) *dataset.Of[T] {
	wanted, err := schemaOf(reflect.TypeFor[T]())
	p.Reject("avro.Read", err)
	return dataset.Files(p, "avro.Read", path, func(in *dataset.FileSplit, emit func(T) bool) error {
		err := readSplit(in, func(c *container) error {
			schema, err := resolve(c.schema, wanted)
			if err != nil {
				return dataset.Malformed(err)
			}
			var element, zero T
			return c.each(func(b *block) (bool, error) {
				element = zero // otherwise the decoder would reuse the last element's slices and maps
				err := b.decode(schema, &element)
				return err == nil && emit(element), err
			})
		})
		if err != nil {
			return fmt.Errorf("%s: %w", in.Split.Path, err)
		}
		return nil
	}, options...)
}

// readSplit opens the file of a split and calls read with a container that reads the
// split's blocks.
func readSplit(in *dataset.FileSplit, read func(*container) error) error {
	file, err := storage.From(in.Task).Open(in.Task, in.Split.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	c, err := openContainer(file, file.Stat().Size, in.Split.Offset, in.Split.Offset+in.Split.Length, in.Memory)
	if err != nil {
		return err
	}
	defer c.close()
	return read(c)
}

// each calls visit for each record, with the record's block, until visit returns false or
// an error. visit must call b.decode exactly once, to decode the record.
func (c *container) each(visit func(b *block) (bool, error)) error {
	for {
		b, err := c.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		for err == nil && b.records > 0 {
			var goOn bool
			if goOn, err = visit(b); err == nil && !goOn {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// JSON yields the records of a container file as JSON objects, without line ends. The bytes
// are valid until the next iteration. The file's position must be its beginning, and size
// must be the file's size in bytes. JSON fails if a block has more than limit bytes. After
// an error the iteration ends.
func JSON(file io.ReadSeeker, size, limit int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		c, err := openContainer(file, size, 0, size, limit)
		if err != nil {
			yield(nil, err)
			return
		}
		defer c.close()
		err = c.each(func(b *block) (bool, error) {
			var record any
			if err := b.decode(c.schema, &record); err != nil {
				return false, err
			}
			line, err := c.schema.EncodeJSON(record)
			return err == nil && yield(line, nil), err
		})
		if err != nil {
			yield(nil, err)
		}
	}
}
