package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/bobbin-yarn/bobbin/internal/fileformat"
	"github.com/bobbin-yarn/bobbin/storage"
)

// csvOptions are the options of [CSV].
type csvOptions struct {
	header    bool // the first record of a file has the names of the columns
	delimiter rune // 0 means a comma
	lines     bool // each line is one record, so files can be split
}

// Header makes [CSV] read the first record of each file as the names of its columns.
func Header() ReadOption { return func(s *source) { s.csv.header = true } }

// Delimiter sets the character that separates the fields of a [CSV] record. The default is
// a comma.
func Delimiter(delimiter rune) ReadOption { return func(s *source) { s.csv.delimiter = delimiter } }

// LineRecords states that each line of the files is one record: no field in quotes contains
// a line break. Then [CSV] can split large files among tasks.
func LineRecords() ReadOption { return func(s *source) { s.csv.lines = true } }

// CSV returns the records of files of comma-separated values, as encoding/csv reads
// them. T is a []string, or a struct whose exported fields are strings, []byte,
// numbers, booleans or types with the methods UnmarshalText and MarshalText.
//
// With the option [Header], a field is set from the column that has the field's name, or
// the name in its tag `csv:"name"`; other columns are ignored. Without Header, the first
// field is set from the first column, and so on. Fields with the tag `csv:"-"` are ignored.
//
// Each file is read by one task, because a field in quotes may contain line breaks. The
// option [LineRecords] excludes such fields, and allows large files to be split. [Text]
// describes how path selects files.
func CSV[T any](p *Plan, path string, options ...ReadOption) *Of[T] {
	n := newSource[T](p, "CSV", path, options)
	n.source.whole = !n.source.csv.lines
	converter, err := newCSVConverter(reflect.TypeFor[T](), isPartitionField)
	p.reject("CSV", err)
	return newRecords(p, n, func(x *taskContext, split storage.Split, emit func(T) bool, reject malformedFunc) bool {
		r := &csvReader[T]{x: x, split: split, options: n.source.csv, converter: converter}
		return r.each(emit, reject)
	})
}

// csvReader reads the records of a split.
type csvReader[T any] struct {
	x         *taskContext
	split     storage.Split
	options   csvOptions
	converter csvConverter
	width     int   // number of fields that a record must have; 0 for any
	columns   []int // for each field of T, the index of its column
	limit     *recordLimitReader
}

// recordLimitReader reads a file, and fails if a record has more than limit bytes, for
// example because a closing quote is missing.
type recordLimitReader struct {
	file  io.Reader
	limit int64
	bytes int64 // bytes read since the end of the last complete record
}

func (l *recordLimitReader) Read(p []byte) (int, error) {
	if l.bytes > l.limit {
		return 0, fmt.Errorf("a record is larger than %d bytes, the memory that a task may use; a quote may be missing", l.limit)
	}
	n, err := l.file.Read(p)
	l.bytes += int64(n)
	return n, err
}

// each calls emit with each element, and reject with each malformed record. It stops and
// returns false if emit or reject returns false, or after an error.
func (r *csvReader[T]) each(emit func(T) bool, reject malformedFunc) bool {
	if err := checkName(r.split); err != nil {
		return r.x.fail(err)
	}
	if r.split.Offset > 0 && r.options.header {
		if err := r.readHeader(); err != nil {
			return r.x.fail(err)
		}
	} else if err := r.bindColumns(nil); err != nil {
		return r.x.fail(err)
	}
	file, err := r.split.Open(r.x.task)
	if err != nil {
		return r.x.fail(err)
	}
	defer file.Close()
	content := bufio.NewReader(file)
	begin, _ := content.Peek(fileformat.BeginLength)
	if err := r.x.checkContent(r.split, begin); err != nil {
		return r.x.fail(err)
	}
	records := r.reader(content)
	first := r.split.Offset == 0
	var element, zero T
	for {
		record, err := records.Read()
		if err == io.EOF {
			return true
		}
		var malformed *csv.ParseError
		if errors.As(err, &malformed) && !(first && r.options.header) {
			r.limit.bytes, first = 0, false
			if !reject(int64(malformed.StartLine), r.text(record), r.withAdvice(malformed.Err)) {
				return false
			}
			continue
		}
		if err != nil {
			return r.x.fail(r.wrapError(err))
		}
		r.limit.bytes = 0
		line, _ := records.FieldPos(0)
		if first && r.options.header {
			first, err = false, r.bindColumns(record)
			if err != nil {
				return r.x.fail(lineError(r.split, int64(line), err))
			}
			continue
		}
		first = false
		r.x.measured.RecordsIn++
		element = zero
		err = r.check(record)
		if err == nil {
			err = r.converter.decode(unsafe.Pointer(&element), record, r.columns)
		}
		if err != nil {
			if !reject(int64(line), r.text(record), err) {
				return false
			}
		} else if !emit(element) {
			return false
		}
	}
}

// reader returns a reader of file's records. It skips a byte order mark at the beginning.
func (r *csvReader[T]) reader(file io.Reader) *csv.Reader {
	r.limit = &recordLimitReader{file: file, limit: r.x.service.TaskMemory()}
	buffer := bufio.NewReaderSize(r.limit, 64<<10)
	if r.split.Offset == 0 {
		if mark, _ := buffer.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
			_, _ = buffer.Discard(3)
		}
	}
	records := csv.NewReader(buffer)
	records.FieldsPerRecord = -1
	records.ReuseRecord = r.converter.fields != nil
	if r.options.delimiter != 0 {
		records.Comma = r.options.delimiter
	}
	return records
}

// readHeader reads the header at the beginning of the file, for a split with a later
// offset.
func (r *csvReader[T]) readHeader() error {
	start := *r
	start.split.Offset, start.split.Length, start.split.Last = 0, r.split.Offset, false
	file, err := start.split.Open(r.x.task)
	if err != nil {
		return err
	}
	defer file.Close()
	header, err := start.reader(file).Read()
	if err != nil {
		return start.wrapError(err)
	}
	if err := r.bindColumns(header); err != nil {
		return lineError(start.split, 1, err)
	}
	return nil
}

// bindColumns finds the column of each field by the names in header. If header is nil, the
// first field is set from the first column, and so on.
func (r *csvReader[T]) bindColumns(header []string) error {
	r.width = len(header)
	r.columns = make([]int, len(r.converter.fields))
	if header == nil {
		r.width = len(r.converter.fields)
	}
	for i, field := range r.converter.fields {
		r.columns[i] = i
		if header == nil {
			continue
		}
		if r.columns[i] = slices.Index(header, field.name); r.columns[i] < 0 {
			return fmt.Errorf("the header has no column %q: it has %q", field.name, header)
		}
	}
	return nil
}

var errBrokenLine = errors.New("a field has a line break in quotes: read the files without the option LineRecords")

// check returns an error if a record has too few or too many fields, or has a line break
// although the option LineRecords is set.
func (r *csvReader[T]) check(record []string) error {
	if r.width > 0 && len(record) != r.width {
		return fmt.Errorf("the record has %d fields: want %d", len(record), r.width)
	}
	if r.options.lines && slices.ContainsFunc(record, func(field string) bool { return strings.Contains(field, "\n") }) {
		return errBrokenLine
	}
	return nil
}

// text returns the fields of a record, joined by the delimiter.
func (r *csvReader[T]) text(record []string) string {
	return strings.Join(record, string(cmp.Or(r.options.delimiter, ',')))
}

// wrapError adds the file, and the line if it is known, to an error of a csv.Reader.
func (r *csvReader[T]) wrapError(err error) error {
	var malformed *csv.ParseError
	if !errors.As(err, &malformed) {
		return fmt.Errorf("%s: %w", r.split.Path, err)
	}
	return lineError(r.split, int64(malformed.StartLine), r.withAdvice(malformed.Err))
}

// withAdvice returns err, the Err of a csv.ParseError. If the option LineRecords may be the
// cause of the error, withAdvice adds this to its text.
func (r *csvReader[T]) withAdvice(err error) error {
	if r.options.lines && (errors.Is(err, csv.ErrQuote) || errors.Is(err, csv.ErrBareQuote)) {
		return fmt.Errorf("%w; if a field has a line break in quotes, read the files without the option LineRecords", err)
	}
	return err
}
