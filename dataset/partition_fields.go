package dataset

import (
	"errors"
	"fmt"
	"reflect"
	"time"
)

// partitionField is a field of a struct with a tag such as `partition:"date"`, whose value
// is in the name of a directory.
type partitionField struct {
	column   string
	name     string       // of the field
	index    int          // of the field
	value    reflect.Type // type of the field or, if it is a pointer, of its target
	pointer  bool         // the field is a pointer
	text     csvField     // converts a value at an address from and to text
	nullable bool         // null is read as an empty string
}

// isPartitionField reports whether a field is set to a value in the names of directories.
func isPartitionField(field reflect.StructField) bool {
	_, tagged := field.Tag.Lookup("partition")
	return tagged
}

// partitionFieldsOf returns the fields of t that have the tag partition. It returns none if
// t is not a struct. It fails if a field cannot have the tag.
func partitionFieldsOf(t reflect.Type) (fields []partitionField, err error) {
	if t.Kind() != reflect.Struct {
		return nil, nil
	}
	for i := range t.NumField() {
		declared := t.Field(i)
		if !isPartitionField(declared) {
			continue
		}
		f := partitionField{column: declared.Tag.Get("partition"), name: declared.Name, index: i, value: declared.Type}
		if f.pointer = declared.Type.Kind() == reflect.Pointer; f.pointer {
			f.value = declared.Type.Elem()
		}
		ok := true
		if f.value == reflect.TypeFor[time.Time]() {
			f.text = csvFieldAt(0, parsePartitionTime, formatPartitionTime)
		} else {
			f.text, ok = csvFieldOf(reflect.StructField{Type: f.value})
		}
		f.nullable = f.value.Kind() == reflect.String
		switch {
		case !declared.IsExported():
			err = errors.New("it is not exported")
		case !ok:
			err = errors.New("want a string, number, boolean, time.Time, a type with the methods UnmarshalText and MarshalText, or a pointer to one of these")
		case f.column == "" || f.column[0] == '_' || f.column[0] == '.':
			err = errors.New("the name of the column is empty or begins with _ or ., and such directories are hidden")
		}
		for _, other := range fields {
			if other.column == f.column {
				err = fmt.Errorf("field %s has the column, too", other.name)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("field %s of %v, of type %v, cannot have the tag partition:%q: %w", declared.Name, t, declared.Type, f.column, err)
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// parse returns the field's value for text, the value in a directory's name. If the field
// is a pointer, all elements of the directory point to the same variable.
func (f *partitionField) parse(text string) (reflect.Value, error) {
	null := text == NullPartition
	if null && f.pointer {
		return reflect.Zero(reflect.PointerTo(f.value)), nil
	}
	if null && !f.nullable {
		return reflect.Value{}, errNullPartition
	}
	if null {
		text = ""
	}
	parsed := reflect.New(f.value)
	if err := f.text.parse(parsed.UnsafePointer(), text); err != nil {
		return reflect.Value{}, err
	}
	if f.pointer {
		return parsed, nil
	}
	return parsed.Elem(), nil
}

// format returns the field's value in element as text, for a directory's name. element is an
// addressable struct.
func (f *partitionField) format(element reflect.Value) (string, error) {
	value := element.Field(f.index).Addr()
	if f.pointer {
		if value = value.Elem(); value.IsNil() {
			return NullPartition, nil
		}
	}
	text, err := f.text.format(value.UnsafePointer())
	if err != nil {
		return "", fmt.Errorf("field %s: %w", f.name, err)
	}
	if text == "" {
		return NullPartition, nil
	}
	return text, nil
}

// partitionTimes are the layouts of times in the names of directories: Spark's layouts for
// dates and timestamps, and RFC 3339. With all but the first, time.Parse also accepts
// fractions of seconds.
var partitionTimes = []string{time.DateOnly, time.DateTime, time.RFC3339}

func parsePartitionTime(text string) (t time.Time, err error) {
	for _, form := range partitionTimes {
		if t, err = time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return t, errors.New("want a time such as 2024-01-31 or 2024-01-31 23:59:59.5, in UTC")
}

func formatPartitionTime(t time.Time) string {
	t = t.UTC()
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04:05.999999999")
}
