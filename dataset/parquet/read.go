package parquet

import (
	"reflect"

	"github.com/bobbin-yarn/bobbin/dataset"
)

// ReadOption is an option of [Read] and [ReadRecords].
type ReadOption func(*options)

type options struct {
	source     []dataset.ReadOption
	predicates []predicate
	columns    []string // names; all columns if there are none
	batchRows  *int     // nil means defaultRecordRows
}

// Source sets read options of package dataset, such as dataset.SplitSize.
func Source(source ...dataset.ReadOption) ReadOption {
	return func(o *options) { o.source = append(o.source, source...) }
}

// Read returns the rows of Parquet files as structs of type T. The package comment
// describes which column belongs to a field, and which types fields can have. A []byte in
// an element is valid only until the function that receives the element returns.
//
// A row group is read by the task whose split contains its middle. The job fails if a file
// is damaged, or if the types of columns and fields do not match. dataset.Text describes
// how path selects files.
func Read[T any](p *dataset.Plan, path string, opts ...ReadOption) *dataset.Of[T] {
	var o options
	for _, option := range opts {
		option(&o)
	}
	element := reflect.TypeFor[T]()
	row, err := describeRow(element)
	p.Reject("parquet.Read", err)
	if o.columns != nil || o.batchRows != nil {
		p.Reject("parquet.Read", errRecordOptions)
	}
	return dataset.Files(p, "parquet.Read", path, func(in *dataset.FileSplit, emit func(T) bool) error {
		r := &splitReader{ctx: in.Task, split: in.Split, memory: in.Memory, predicates: o.predicates}
		return readRows(r, row, emit)
	}, o.source...)
}
