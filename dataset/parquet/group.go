package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/internal/fileformat"
	"github.com/bobbin-yarn/bobbin/storage"
)

// splitReader reads the row groups of a split.
type splitReader struct {
	ctx        context.Context // storage.From(ctx) opens the file
	split      storage.Split
	memory     int64 // bytes of memory that may be used
	predicates []predicate
	input      *input
	file       *file.Reader
	buffers    *parquet.ReaderProperties
	fits       int64 // number of rows of the current row group that fit into memory/8
}

// input is a file that records the error of a failed read. Without such an error, an error
// of the Parquet reader means that the file is damaged.
type input struct {
	storage.File
	err error
}

func (i *input) ReadAt(p []byte, offset int64) (int, error) {
	n, err := i.File.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		i.err = err
	}
	return n, err
}

// open opens the split's file and reads its footer.
func (r *splitReader) open() error {
	if r.split.Compression != "" {
		return r.malformed(fmt.Errorf("the name says that the file is compressed with %s as a whole: decompress it, because Parquet files are compressed inside", r.split.Compression))
	}
	opened, err := storage.From(r.ctx).Open(r.ctx, r.split.Path)
	if err != nil {
		return err
	}
	r.input = &input{File: opened}
	if err := r.readFooter(); err != nil {
		r.close()
		return err
	}
	return nil
}

// readFooter reads the footer of the input.
func (r *splitReader) readFooter() (err error) {
	r.buffers = parquet.NewReaderProperties(memory.NewGoAllocator())
	r.buffers.BufferedStreamEnabled = true // so that column chunks are not read as a whole
	r.buffers.MaxUncompressedPageSize = min(parquet.DefaultMaxUncompressedPageSize, max(r.memory, smallestBuffer))
	err = recoverPanic(damagedMessage, func() error {
		r.file, err = file.NewParquetReader(r.input, file.WithReadProps(r.buffers))
		return err
	})
	if err != nil {
		if format, failed := fileformat.Of(r.input, r.input.Stat().Size); failed == nil && format == fileformat.ORC {
			err = errors.New(fileformat.ORCAdvice)
		}
		return r.wrapError(fmt.Errorf("footer: %w", err))
	}
	return nil
}

func (r *splitReader) close() { _ = r.input.Close() } // it was only read

// wrapError adds the file's path to an error. If reading from storage did not fail, the
// file is damaged, and wrapError returns an error with which the task is not retried.
func (r *splitReader) wrapError(err error) error {
	if r.input.err != nil || r.ctx.Err() != nil {
		return fmt.Errorf("%s: %w", r.split.Path, err)
	}
	return r.malformed(err)
}

// malformed adds the file's path to err, and returns it as an error with which the task is
// not retried.
func (r *splitReader) malformed(err error) error {
	return dataset.Malformed(fmt.Errorf("%s: %w", r.split.Path, err))
}

// damagedMessage is the beginning of errors for panics of the Parquet reader.
const damagedMessage = "the file is damaged"

// recoverPanic calls f, and turns a panic into an error whose message begins with what. It
// is needed because the Parquet reader panics on some damaged files, the Parquet writer if it
// cannot write to its file, and the builder of record batches if a batch is too large.
func recoverPanic(what string, f func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			err = fmt.Errorf("%s: %w", what, r)
		default:
			err = fmt.Errorf("%s: %v", what, r)
		}
	}()
	return f()
}

// groups returns the numbers of the split's row groups: those whose middle is in the split,
// as in Hadoop.
func (r *splitReader) groups() (numbers []int, err error) {
	err = recoverPanic(damagedMessage, func() error {
		for number := range r.file.NumRowGroups() {
			middle := middleOf(r.file.MetaData().RowGroup(number))
			if middle >= r.split.Offset && (middle < r.split.Offset+r.split.Length || r.split.Last) {
				numbers = append(numbers, number)
			}
		}
		return nil
	})
	if err != nil {
		err = r.wrapError(fmt.Errorf("footer: %w", err))
	}
	return numbers, err
}

// middleOf returns the offset in the file of the middle of a row group.
func middleOf(group *metadata.RowGroupMetaData) int64 {
	start, size := int64(-1), int64(0)
	for i := range group.NumColumns() {
		chunk, err := group.ColumnChunk(i)
		if err != nil {
			continue // reading the column later returns the error
		}
		first := chunk.DataPageOffset()
		if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
			first = min(first, chunk.DictionaryPageOffset())
		}
		if start < 0 || first < start {
			start = first
		}
		size += chunk.TotalCompressedSize()
	}
	return max(start, 0) + size/2
}

// rowGroup is a row group that is being read.
type rowGroup struct {
	reader  *splitReader
	number  int
	columns []column
	rows    int64
	left    int64 // number of rows that are not read yet
	batch   int   // number of rows to read at a time
}

const (
	smallestBuffer = 64 << 10
	largestBuffer  = 1 << 20
	// smallestBatch is the smallest number of rows that are read at a time, even if these
	// rows exceed the memory limit.
	smallestBatch = 8
)

// group opens columns in a row group. It returns nil if statistics show that no row matches
// the predicates.
func (r *splitReader) group(number int, columns []column) (*rowGroup, error) {
	g := &rowGroup{reader: r, number: number, columns: columns}
	at := "row group"
	err := recoverPanic(damagedMessage, func() error {
		data := r.file.MetaData().RowGroup(number)
		g.rows = data.NumRows()
		g.left = g.rows
		var bytes int64
		for _, c := range columns {
			at = fmt.Sprintf("column %q", c.path())
			chunk, err := data.ColumnChunk(c.index())
			if err != nil {
				return err
			}
			excluded, err := c.excluded(chunk)
			if err != nil {
				return err
			}
			if excluded {
				g = nil
				return nil
			}
			bytes += chunk.TotalUncompressedSize()
		}
		r.buffers.BufferSize = min(max(r.memory/4/int64(len(columns)+1), smallestBuffer), largestBuffer)
		r.fits = max(r.memory/8/(bytes/max(g.rows, 1)+1), smallestBatch)
		g.batch = int(min(r.fits, batchRows))
		reader := r.file.RowGroup(number)
		for _, c := range columns {
			at = fmt.Sprintf("column %q", c.path())
			chunk, err := reader.Column(c.index())
			if err != nil {
				return err
			}
			if err := c.open(chunk); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, r.wrapError(fmt.Errorf("row group %d, %s: %w", number, at, err))
	}
	return g, nil
}
