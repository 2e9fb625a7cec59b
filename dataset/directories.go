package dataset

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/bobbin-yarn/bobbin/storage"
)

// NullPartition stands for null, or an empty string, in the name of a directory, such as
// date=__HIVE_DEFAULT_PARTITION__. Hive and Spark use it, too.
const NullPartition = "__HIVE_DEFAULT_PARTITION__"

// Partition makes a source read only the directories named column=value for which
// keep(value) returns true. [PartitionBy] writes such directories. The source does not list
// other directories named in this way, so they cost no time. keep receives the value
// without escapes such as %2F, or [NullPartition]. A job fails if the path of a file
// contains no directory named column=value.
//
// The driver calls keep before the first job that reads the source. Executors do not call
// it.
func Partition(column string, keep func(value string) bool) ReadOption {
	return func(s *source) { s.filters = append(s.filters, directoryFilter{column, keep}) }
}

// directoryFilter is one [Partition] option.
type directoryFilter struct {
	column string
	keep   func(value string) bool
}

// directoryColumn returns the column and the value in the name of a directory, such as
// "date=2024-01-31", without escapes. ok is false if the name is not of this form.
func directoryColumn(name string) (column, value string, ok bool) {
	column, value, ok = strings.Cut(name, "=")
	return unescaped(column), unescaped(value), ok && column != ""
}

// directoryValue returns the value of a column in the path of a directory. If the path has
// the column several times, the last one counts.
func directoryValue(directory, column string) (value string, ok bool) {
	for directory != "" {
		end := strings.LastIndexByte(directory, '/')
		if c, value, ok := directoryColumn(directory[end+1:]); ok && c == column {
			return value, true
		}
		directory = directory[:max(end, 0)]
	}
	return "", false
}

// escapedBytes are the bytes that Hive and Spark write as %XX in the names of directories.
// They write control characters in the same way.
const escapedBytes = "\"#%'*/:=?\\{[]^\x7f"

// escaped appends text, which is a column or a value, to the name of a directory. It
// escapes control characters and escapedBytes.
func escaped(name []byte, text string) []byte {
	const digits = "0123456789ABCDEF"
	for _, b := range []byte(text) {
		if b < ' ' || strings.IndexByte(escapedBytes, b) >= 0 {
			name = append(name, '%', digits[b>>4], digits[b&15])
		} else {
			name = append(name, b)
		}
	}
	return name
}

// unescaped is the reverse of escaped. A "%" that is not followed by two hexadecimal
// digits stands for itself, as in Hive.
func unescaped(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	text := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) {
			if b, err := strconv.ParseUint(name[i+1:i+3], 16, 8); err == nil {
				text = append(text, byte(b))
				i += 2
				continue
			}
		}
		text = append(text, name[i])
	}
	return string(text)
}

// partitionPruning describes which directories a source reads, and which fields of its
// elements are set to values in the names of these directories.
type partitionPruning struct {
	filters []directoryFilter
	fields  []partitionField

	mu  sync.Mutex
	err error // from a filter that panicked
}

// shouldList reports whether the source lists a directory. It returns false if the
// directory's name is column=value and a filter of the column rejects the value.
func (d *partitionPruning) shouldList(directory string) bool {
	column, value, ok := directoryColumn(path.Base(directory))
	return !ok || d.matches(column, value)
}

// matches reports whether all filters of a column accept a value. If a filter panics,
// matches sets d.err and returns false.
func (d *partitionPruning) matches(column, value string) (keeps bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			d.err = fmt.Errorf("the function of the option Partition(%q) panicked for %q: %v", column, value, r)
			keeps = false
		}
	}()
	for _, f := range d.filters {
		if f.column == column && !f.keep(value) {
			return false
		}
	}
	return true
}

// shouldRead reports whether the source reads the files in a directory. It fails if the
// directory's path has no value for the column of a filter or of a field.
func (d *partitionPruning) shouldRead(directory string) (bool, error) {
	for _, f := range d.filters {
		value, ok := directoryValue(directory, f.column)
		if !ok {
			return false, fmt.Errorf("%s: no directory of the path is named %s=value, as the option Partition(%q) needs", directory, f.column, f.column)
		}
		if !d.matches(f.column, value) {
			return false, d.err
		}
	}
	_, err := partitionValues(d.fields, directory)
	return true, err
}

// prune returns those of the splits whose files the source reads.
func (d *partitionPruning) prune(splits []storage.Split) (read []storage.Split, err error) {
	if d.err != nil || len(d.filters)+len(d.fields) == 0 {
		return splits, d.err
	}
	known := map[string]bool{}
	for _, split := range splits {
		directory := directoryOf(split)
		reads, ok := known[directory]
		if !ok {
			if reads, err = d.shouldRead(directory); err != nil {
				return nil, err
			}
			known[directory] = reads
		}
		if reads {
			read = append(read, split)
		}
	}
	return read, nil
}

// directoryOf returns the URI of the directory that a split's file is in.
func directoryOf(split storage.Split) string {
	return split.Path[:strings.LastIndexByte(split.Path, '/')]
}

// eachSplit calls read for each split of a partition of a source, until read returns false.
// read must pass each element to the function that it receives as emit. This function sets
// the fields whose values are in the names of directories, and then calls eachSplit's emit.
func eachSplit[T any](x *taskContext, n *node, partition int, emit func(T) bool, read func(split storage.Split, emit func(T) bool) bool) {
	var element T
	fields := n.source.fields
	for _, split := range x.splits(n, partition) {
		placed := emit
		if len(fields) > 0 {
			values, err := partitionValues(fields, directoryOf(split))
			if err != nil {
				x.fail(permanentError{err})
				return
			}
			targets := make([]reflect.Value, len(fields))
			for i, f := range fields {
				targets[i] = reflect.ValueOf(&element).Elem().Field(f.index)
			}
			placed = func(e T) bool {
				element = e
				for i, target := range targets {
					target.Set(values[i])
				}
				return emit(element)
			}
		}
		if !read(split, placed) {
			return
		}
	}
}

// partitionValues returns the values of fields in the path of a directory.
func partitionValues(fields []partitionField, directory string) ([]reflect.Value, error) {
	values := make([]reflect.Value, len(fields))
	for i, f := range fields {
		text, ok := directoryValue(directory, f.column)
		if !ok {
			return nil, fmt.Errorf("%s: no directory of the path is named %s=value, as field %s needs", directory, f.column, f.name)
		}
		var err error
		if values[i], err = f.parse(text); err != nil {
			return nil, fmt.Errorf("%s: the value %q of %s, for field %s: %w", directory, text, f.column, f.name, err)
		}
	}
	return values, nil
}

var errNullPartition = errors.New("the field cannot be null: make it a pointer, or leave the directory out with the option Partition")
