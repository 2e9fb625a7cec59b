package dataset

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
	"github.com/bobbin-yarn/bobbin/storage"
)

// PartitionBy makes Save write files in directories named column=value, such as
// date=2024-01-31/hour=7/part-00000, as Spark and Hive do. Elements must be structs in
// which exactly the fields for these columns have tags, such as `partition:"date"`. The
// values of these fields are in the names of the directories, not in the files. When
// sources read files into structs with such tags, they set these fields to the values in
// the directories' names.
//
// The fields can be strings, numbers, booleans, times, types with the methods UnmarshalText
// and MarshalText, and pointers to these. Times are written in UTC, as 2024-01-31 if they
// are at midnight, otherwise as 2024-01-31 23:59:59.5. A nil pointer and an empty string
// are written as [NullPartition]; sources can read it only into pointers and strings.
//
// A task writes one file in each directory for which it has elements. It writes at most 8
// files at the same time, or one if the format buffers much of a file in memory. Elements
// for other directories are sorted by directory, on disk if they do not fit into memory,
// and written afterwards.
func PartitionBy(columns ...string) SaveOption {
	return func(o *saveOptions) { o.columns = columns }
}

// DynamicOverwrite makes Save with the option [PartitionBy] replace only the directories
// column=value for which it has elements. Spark does the same in the mode overwrite if
// spark.sql.sources.partitionOverwriteMode is dynamic. The directories are replaced when
// all new files are complete. storage.ReplaceOutputPartitions describes what happens if the
// application dies during the replacement.
func DynamicOverwrite() SaveOption {
	return func(o *saveOptions) {
		o.output = append(o.output, storage.ReplaceOutputPartitions())
		o.dynamic = true
	}
}

// partitioning describes in which directory an element is saved, and which of its fields
// are written to the file.
type partitioning struct {
	fields     []partitionField // one for each level of directories
	fileType   reflect.Type     // type of the elements in files: the element's struct without the partition fields
	keptFields []int            // for each field of fileType, its index in the element's struct
}

// newPartitioning returns how elements of a type are partitioned by columns.
func newPartitioning(element reflect.Type, columns []string) (p *partitioning, err error) {
	if element.Kind() != reflect.Struct {
		return nil, fmt.Errorf("PartitionBy needs elements that are structs, not %v", element)
	}
	for _, custom := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if reflect.PointerTo(element).Implements(custom) {
			return nil, fmt.Errorf("PartitionBy leaves fields out of the files, but %v has a method that writes all of it: map it to a plain struct", element)
		}
	}
	fields, err := partitionFieldsOf(element)
	if err != nil {
		return nil, err
	}
	p = &partitioning{}
	var left []reflect.StructField
	for n, column := range columns {
		i := slices.IndexFunc(fields, func(f partitionField) bool { return f.column == column })
		if i < 0 {
			return nil, fmt.Errorf("%v has no field with the tag `partition:%q`", element, column)
		}
		if slices.Contains(columns[:n], column) {
			return nil, fmt.Errorf("PartitionBy has the column %q twice", column)
		}
		p.fields = append(p.fields, fields[i])
	}
	for i := range element.NumField() {
		field := element.Field(i)
		if field.Anonymous && !field.IsExported() {
			return nil, fmt.Errorf("PartitionBy cannot leave fields out of %v, which embeds the unexported %v: map it to a plain struct", element, field.Type)
		}
		if !field.IsExported() || slices.ContainsFunc(p.fields, func(f partitionField) bool { return f.index == i }) {
			continue
		}
		p.keptFields = append(p.keptFields, i)
		left = append(left, field)
	}
	if len(left) == 0 {
		return nil, fmt.Errorf("%v has no other exported fields than those of PartitionBy: files would be empty", element)
	}
	defer func() {
		if r := recover(); r != nil { // StructOf panics for embedded types with methods
			p, err = nil, fmt.Errorf("PartitionBy cannot leave fields out of %v: %v: map it to a plain struct", element, r)
		}
	}()
	p.fileType = reflect.StructOf(left)
	return p, nil
}

// directory appends the path of an element's directory, relative to the output directory,
// to b.
func (p *partitioning) directory(b []byte, element reflect.Value) ([]byte, error) {
	for i := range p.fields {
		if i > 0 {
			b = append(b, '/')
		}
		text, err := p.fields[i].format(element)
		if err != nil {
			return nil, err
		}
		b = append(escaped(b, p.fields[i].column), '=')
		b = escaped(b, text)
	}
	return b, nil
}

// elementCodec encodes and decodes elements of a data set of any type T. Its methods take
// and return an element as a *T in an any.
type elementCodec interface {
	append(b []byte, element any) ([]byte, error)
	decode(b []byte) (element any, err error)
}

// pointerCodec is the elementCodec of elements of type T.
type pointerCodec[T any] struct{ values *record.Codec[T] }

func (c pointerCodec[T]) append(b []byte, element any) ([]byte, error) {
	pointer, ok := element.(*T)
	if !ok {
		return nil, errors.New("the element is of another type")
	}
	return c.values.Append(b, *pointer)
}

func (c pointerCodec[T]) decode(b []byte) (any, error) {
	element, err := c.values.Decode(b)
	return &element, err
}

// maxOpenFiles is the largest number of files that a task writes at the same time; see
// [PartitionBy].
const maxOpenFiles = 8

// partitionWriter writes the elements of a task to files in directories.
type partitionWriter struct {
	*partitioning
	x        *taskContext
	part     *storage.PartitionedPart
	format   outputFormat
	codec    elementCodec
	limit    int // largest number of open files
	open     map[string]*partitionFile
	record   reflect.Value   // pointer to a fileType, reused for each element
	sorter   *shuffle.Sorter // elements for directories without an open file; nil if there are none
	path     []byte          // of the current element's directory
	buffer   []byte
	elements int64
}

// partitionFile is the file in one directory.
type partitionFile struct {
	file    *storage.Writer
	encoder Encoder
}

// savePartitioned computes partitions and writes their elements to files in directories.
func (s *decodedStage) savePartitioned(x *taskContext, partitions span) (elements int64, err error) {
	p, err := newPartitioning(s.final.element, s.OutputFormat.Columns)
	if err != nil {
		return 0, err
	}
	part, err := s.Output.PartitionedPart(x.task, x.task.Index(), x.task.Attempt())
	if err != nil {
		return 0, err
	}
	w := &partitionWriter{partitioning: p, x: x, part: part, format: s.OutputFormat, codec: s.final.codec,
		limit: s.OutputFormat.openFiles(), open: map[string]*partitionFile{}, record: reflect.New(p.fileType)}
	defer w.close()
	err = x.eachPartition(partitions, func(partition int) { s.final.save(x, partition, w.write) })
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		return 0, err
	}
	return w.elements, x.task.CommitOutput(part.Commit)
}

// write writes an element to the file in its directory, or adds it to the sorter.
func (w *partitionWriter) write(element any) (err error) {
	w.elements++
	value := reflect.ValueOf(element).Elem()
	if w.path, err = w.directory(w.path[:0], value); err != nil {
		return err
	}
	file := w.open[string(w.path)]
	if file == nil && len(w.open) < w.limit {
		if file, err = w.create(string(w.path)); err != nil {
			return err
		}
	}
	if file != nil {
		return w.encode(file, value)
	}
	if w.sorter == nil {
		if w.sorter, err = w.x.sorter(); err != nil {
			return err
		}
	}
	if w.buffer, err = w.codec.append(w.buffer[:0], element); err != nil {
		return err
	}
	return w.sorter.Add(record.Prefix(w.path), w.path, w.buffer)
}

// encode writes an element to a file, without the fields in the directory's name.
func (w *partitionWriter) encode(file *partitionFile, element reflect.Value) error {
	for i, field := range w.keptFields {
		w.record.Elem().Field(i).Set(element.Field(field))
	}
	return file.encoder.Write(w.record.Interface())
}

// create creates the file in a directory.
func (w *partitionWriter) create(directory string) (*partitionFile, error) {
	file, err := w.part.Create(directory)
	if err != nil {
		return nil, err
	}
	f := &partitionFile{file: file}
	w.open[directory] = f
	f.encoder, err = w.format.encoder(file, w.fileType)
	return f, err
}

// finish completes the open files. Then it writes the elements in the sorter, one directory
// after the other.
func (w *partitionWriter) finish() error {
	if err := w.complete(); err != nil || w.sorter == nil {
		return err
	}
	for r, err := range w.sorter.All(w.x.task) {
		if err != nil {
			return err
		}
		file := w.open[string(r.Key)]
		if file == nil {
			if err := w.complete(); err != nil {
				return err
			}
			if file, err = w.create(string(r.Key)); err != nil {
				return err
			}
		}
		element, err := w.codec.decode(r.Value)
		if err != nil {
			return err
		}
		if err := w.encode(file, reflect.ValueOf(element).Elem()); err != nil {
			return err
		}
	}
	return w.complete()
}

// complete closes the open files.
func (w *partitionWriter) complete() error {
	for directory, f := range w.open {
		if err := f.encoder.Close(); err != nil {
			return err
		}
		if err := f.file.Close(); err != nil {
			return err
		}
		delete(w.open, directory)
	}
	return nil
}

// close frees memory and removes all files, unless they were committed.
func (w *partitionWriter) close() {
	for _, f := range w.open {
		_ = f.file.Abort()
	}
	if w.sorter != nil {
		w.x.closeSorter(w.sorter)
	}
	_ = w.part.Abort()
}
