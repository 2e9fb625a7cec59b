package parquet

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/bobbin-yarn/bobbin/dataset"
)

// Format makes Save write Parquet files. The elements must be structs, as for [Read]. The
// option dataset.Compress has the values "snappy", which is the default, "zstd", "gzip",
// and "none". Each compresses the data inside a file, so several tasks can read one file.
//
// Integers of less than 32 bits, and unsigned integers, are written as INT(bits, signed),
// time.Time as TIMESTAMP and time.Duration as TIME, both in whole microseconds. A Decimal
// needs a tag such as `parquet:"price,decimal(15,2)"`; a value with more digits fails the
// job. Nil pointers, slices, []byte and maps are written as null.
var Format = dataset.RegisterFormat(dataset.FormatDescription{
	Name:       "parquet",
	Suffix:     suffix,
	NewEncoder: newEncoder,
})

const (
	rowGroupSizeOption  = "rowGroupSize"
	defaultRowGroupSize = 32 << 20
	smallestPage        = 4 << 10
)

// RowGroupSize sets the approximate size of row groups in bytes, compressed. A task that
// writes a file buffers one row group in memory. A task that reads a file reads whole row
// groups. The default is 32 MiB.
func RowGroupSize(bytes int64) dataset.SaveOption {
	return dataset.FormatOption(rowGroupSizeOption, strconv.FormatInt(bytes, 10))
}

// codecs has the codec and the suffix of files for each value of dataset.Compress.
var codecs = map[string]struct {
	suffix string
	codec  compress.Compression
}{
	"":       {".snappy.parquet", compress.Codecs.Snappy},
	"snappy": {".snappy.parquet", compress.Codecs.Snappy},
	"zstd":   {".zstd.parquet", compress.Codecs.Zstd},
	"gzip":   {".gz.parquet", compress.Codecs.Gzip},
	"none":   {".parquet", compress.Codecs.Uncompressed},
}

func suffix(compression string) (string, error) {
	known, ok := codecs[compression]
	if !ok {
		return "", fmt.Errorf("the compression of Parquet files is snappy, zstd, gzip or none, not %q", compression)
	}
	return known.suffix, nil
}

// encoder writes a Parquet file.
type encoder struct {
	rowType      reflect.Type
	writer       *file.Writer
	write        shredder // adds a row to columns
	columns      []columnBuffer
	open         file.BufferedRowGroupWriter // nil if no row group has begun
	rows         int                         // number of rows in columns
	rowGroupSize int64
}

func newEncoder(w io.Writer, element reflect.Type, o dataset.EncodeOptions) (dataset.Encoder, error) {
	e := &encoder{rowType: element, rowGroupSize: defaultRowGroupSize}
	for name, value := range o.Options {
		size, err := strconv.ParseInt(value, 10, 64)
		if name != rowGroupSizeOption {
			return nil, fmt.Errorf("there is no option %q: the only one of Parquet files is parquet.RowGroupSize", name)
		}
		if err != nil || size < 1 {
			return nil, fmt.Errorf("the size of row groups must be positive, not %s bytes", value)
		}
		e.rowGroupSize = size
	}
	known, ok := codecs[o.Compression]
	if !ok {
		_, err := suffix(o.Compression)
		return nil, err
	}
	row, err := describeRow(element)
	if err != nil {
		return nil, err
	}
	root, err := e.build(row)
	if err != nil {
		return nil, err
	}
	// A row group is closed when TotalCompressedBytes is large enough. This number does not
	// include incomplete pages, so pages must be small.
	pages := min(max(e.rowGroupSize/8/int64(len(e.columns)), smallestPage), parquet.DefaultDataPageSize)
	properties := parquet.NewWriterProperties(parquet.WithCompression(known.codec), parquet.WithRootName("row"),
		parquet.WithDataPageSize(pages), parquet.WithDictionaryPageSizeLimit(pages))
	err = recoverPanic("write a Parquet file", func() error {
		e.writer, err = file.NewParquetWriterWithError(struct{ io.Writer }{w}, root, file.WithWriterProps(properties))
		return err
	})
	return e, err
}

// Write appends the struct that element points to.
func (e *encoder) Write(element any) error {
	v := reflect.ValueOf(element)
	if v.Kind() != reflect.Pointer || v.Type().Elem() != e.rowType {
		return fmt.Errorf("a %T was passed to a Parquet file of %v", element, e.rowType)
	}
	if err := e.write(v.UnsafePointer(), 0, 0); err != nil {
		return err
	}
	if e.rows++; e.rows < batchRows && e.buffered() < flushBytes {
		return nil
	}
	return e.flush()
}

// flushBytes is the approximate number of bytes of values that are buffered before they are
// encoded.
const flushBytes = 1 << 20

func (e *encoder) buffered() (bytes int) {
	for _, c := range e.columns {
		bytes += c.size()
	}
	return bytes
}

// flush encodes the buffered rows into the current row group, and completes the row group
// if it is large enough.
func (e *encoder) flush() error {
	if e.rows == 0 {
		return nil
	}
	return recoverPanic("write a Parquet file", func() (err error) {
		if e.open == nil {
			if e.open, err = e.writer.AppendBufferedRowGroupChecked(); err != nil {
				return err
			}
		}
		for i, c := range e.columns {
			writer, err := e.open.Column(i)
			if err != nil {
				return err
			}
			if err := c.flush(writer); err != nil {
				return err
			}
		}
		e.rows = 0
		if e.open.TotalCompressedBytes() < e.rowGroupSize {
			return nil
		}
		err = e.open.Close()
		e.open = nil
		return err
	})
}

// Close writes the last row group and the footer.
func (e *encoder) Close() error {
	err := e.flush()
	return errors.Join(err, recoverPanic("write a Parquet file", func() error {
		if e.open != nil && err == nil {
			if err := e.open.Close(); err != nil {
				return err
			}
		}
		return e.writer.Close()
	}))
}

// shredder adds a value, whose address is at, to the buffers of the value's columns. rep is
// the repetition level of the first entry that it adds. If a struct, list or map around the
// value is null or empty, at is nil, and def is the definition level that expresses this.
type shredder func(at unsafe.Pointer, rep, def int16) error
