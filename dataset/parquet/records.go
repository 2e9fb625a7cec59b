package parquet

import (
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/bobbin-yarn/bobbin/dataset"
)

// defaultRecordRows is the largest number of rows in a record batch if [BatchRows] is not
// set.
const defaultRecordRows = 4096

// Columns makes [ReadRecords] read only the named columns, in this order. A name may be
// that of a column in a group, as in "address.city". Columns in lists and maps cannot be
// named: lists and maps are read as a whole.
func Columns(names ...string) ReadOption {
	return func(o *options) { o.columns = append(o.columns, names...) }
}

// BatchRows sets the largest number of rows in a batch of [ReadRecords]. The default is 4096.
// Batches have fewer rows if the rows would need more than an eighth of the task's memory, and
// at the end of a split.
func BatchRows(n int) ReadOption { return func(o *options) { o.batchRows = &n } }

var errRecordOptions = errors.New("Columns and BatchRows are options of ReadRecords: the fields of the struct say which columns Read reads")

// checkRecords returns an error if the options are not valid for ReadRecords.
func (o *options) checkRecords() error {
	if o.batchRows != nil && *o.batchRows < 1 {
		return fmt.Errorf("BatchRows(%d): a batch must have at least one row", *o.batchRows)
	}
	return nil
}

// ReadRecords returns the rows of Parquet files as Arrow record batches, each with the
// schema of its file. [Columns] selects columns, and [Where] selects rows, as in [Read].
// The package comment describes which Arrow type a column has. Go's garbage collector frees
// the memory of batches. A batch is valid only until the function that receives it returns,
// unless that function calls the batch's Retain.
//
// A row group is read by the task whose split contains its middle. The job fails if a file
// is damaged, or lacks a column. dataset.Text describes how path selects files.
func ReadRecords(p *dataset.Plan, path string, opts ...ReadOption) *dataset.Of[arrow.RecordBatch] {
	var o options
	for _, option := range opts {
		option(&o)
	}
	p.Reject("parquet.ReadRecords", o.checkRecords())
	return dataset.Files(p, "parquet.ReadRecords", path, func(in *dataset.FileSplit, emit func(arrow.RecordBatch) bool) error {
		r := &splitReader{ctx: in.Task, split: in.Split, memory: in.Memory, predicates: o.predicates}
		return r.records(&o, emit)
	}, o.source...)
}

// records calls emit with batches of the split's rows, until emit returns false.
//
// The rows are first read into structs, as in Read, so that errors for damaged files name
// the row group and the column. Arrow's package pqarrow is not used, because it reads
// structs in its own goroutines, where a panic cannot be recovered and ends the process.
func (r *splitReader) records(o *options, emit func(arrow.RecordBatch) bool) error {
	if err := r.open(); err != nil {
		return err
	}
	defer r.close()
	var row *field
	var shown reflect.Type
	var arrowSchema *arrow.Schema
	err := recoverPanic(damagedMessage, func() (err error) {
		if row, shown, err = (mirror{value: recordValue}).group(r.file.MetaData().Schema.Root(), o.columns); err == nil {
			arrowSchema = arrow.NewSchema(arrowFields(row), nil)
		}
		return err
	})
	if err != nil {
		return r.malformed(err)
	}
	builder := array.NewRecordBuilder(memory.NewGoAllocator(), arrowSchema)
	defer builder.Release()
	appendRow := childAppenders(row, builder.Field)
	var rows reflect.Value
	newRows := func(n int) unsafe.Pointer {
		if !rows.IsValid() || rows.Len() < n {
			rows = reflect.MakeSlice(reflect.SliceOf(shown), n, n)
		}
		rows.Clear()
		return rows.UnsafePointer()
	}
	most := int64(defaultRecordRows)
	if o.batchRows != nil {
		most = int64(*o.batchRows)
	}
	built := int64(0)
	flush := func() bool {
		built = 0
		record := builder.NewRecordBatch()
		defer record.Release()
		return emit(record)
	}
	goOn := true
	var failed error
	err = r.batches(row, shown.Size(), newRows, func(i int) bool {
		at := unsafe.Add(rows.UnsafePointer(), uintptr(i)*shown.Size())
		failed = recoverPanic("the batch is too large: set BatchRows", func() error {
			appendRow(at)
			return nil
		})
		if built++; failed == nil && built >= min(most, r.fits) {
			goOn = flush()
		}
		return goOn && failed == nil
	})
	if failed != nil {
		return r.malformed(failed)
	}
	if err == nil && goOn && built > 0 {
		flush()
	}
	return err
}
