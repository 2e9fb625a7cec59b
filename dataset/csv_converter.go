package dataset

import (
	"bytes"
	"encoding"
	"encoding/csv"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unsafe"
)

// csvConverter converts CSV records to elements and back.
type csvConverter struct {
	fields []csvField // nil if elements are of type []string
}

// csvField is a field of a struct. The argument row of its functions points to the struct.
type csvField struct {
	name   string
	parse  func(row unsafe.Pointer, text string) error
	format func(row unsafe.Pointer) (string, error)
}

// newCSVConverter returns the csvConverter for elements of type t. It ignores the fields
// for which skip returns true, and fails if any other exported field cannot be converted.
func newCSVConverter(t reflect.Type, skip func(reflect.StructField) bool) (csvConverter, error) {
	if t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[string]() {
		return csvConverter{}, nil
	}
	if t.Kind() != reflect.Struct {
		return csvConverter{}, fmt.Errorf("a CSV record cannot be of type %v: want a struct or []string", t)
	}
	converter := csvConverter{fields: []csvField{}}
	for i := range t.NumField() {
		declared := t.Field(i)
		name := declared.Tag.Get("csv")
		if !declared.IsExported() || name == "-" || skip(declared) {
			continue
		}
		field, ok := csvFieldOf(declared)
		if !ok {
			return converter, fmt.Errorf("field %s of %v has the type %v, which cannot be a CSV field: want a string, []byte, number or boolean, "+
				"or a type with the methods UnmarshalText and MarshalText", declared.Name, t, declared.Type)
		}
		if field.name = name; name == "" {
			field.name = declared.Name
		}
		converter.fields = append(converter.fields, field)
	}
	if len(converter.fields) == 0 {
		return converter, fmt.Errorf("%v has no exported fields", t)
	}
	return converter, nil
}

// decode sets the element at an address to the values of a record. columns has, for each
// field, the index of its column.
func (r csvConverter) decode(element unsafe.Pointer, record []string, columns []int) error {
	if r.fields == nil {
		*(*[]string)(element) = record
		return nil
	}
	for i := range r.fields {
		if err := r.fields[i].parse(element, record[columns[i]]); err != nil {
			return fmt.Errorf("field %s: %w", r.fields[i].name, err)
		}
	}
	return nil
}

// encode returns the record for the element at an address. The record may share memory with
// buffer.
func (r csvConverter) encode(buffer []string, element unsafe.Pointer) (record []string, err error) {
	if r.fields == nil {
		return *(*[]string)(element), nil
	}
	for i := range r.fields {
		text, err := r.fields[i].format(element)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", r.fields[i].name, err)
		}
		buffer = append(buffer, text)
	}
	return buffer, nil
}

// header returns the names of the columns.
func (r csvConverter) header() []string {
	var names []string
	for _, field := range r.fields {
		names = append(names, field.name)
	}
	return names
}

// csvLineEncoder encodes records as lines.
type csvLineEncoder struct {
	buffer *bytes.Buffer
	writer *csv.Writer
}

func newCSVLineEncoder() csvLineEncoder {
	buffer := new(bytes.Buffer)
	return csvLineEncoder{buffer: buffer, writer: csv.NewWriter(buffer)}
}

// line returns a record as a line, including the line break. The bytes are valid until the
// next call.
func (e csvLineEncoder) line(record []string) ([]byte, error) {
	switch {
	case len(record) == 0:
		return nil, errors.New("a CSV record must have a field")
	case len(record) == 1 && record[0] == "":
		return []byte("\"\"\n"), nil // readers skip empty lines
	}
	e.buffer.Reset()
	if err := e.writer.Write(record); err != nil {
		return nil, err
	}
	e.writer.Flush()
	return e.buffer.Bytes(), e.writer.Error()
}

// textMarshaler is implemented by pointers to types with custom text encodings.
type textMarshaler interface {
	encoding.TextUnmarshaler
	encoding.TextMarshaler
}

func csvFieldOf(field reflect.StructField) (csvField, bool) {
	if reflect.PointerTo(field.Type).Implements(reflect.TypeFor[textMarshaler]()) {
		at := func(row unsafe.Pointer) textMarshaler {
			value, _ := reflect.NewAt(field.Type, unsafe.Add(row, field.Offset)).Interface().(textMarshaler)
			return value
		}
		return csvField{
			parse: func(row unsafe.Pointer, text string) error { return at(row).UnmarshalText([]byte(text)) },
			format: func(row unsafe.Pointer) (string, error) {
				text, err := at(row).MarshalText()
				return string(text), err
			},
		}, true
	}
	offset := field.Offset
	switch field.Type.Kind() {
	case reflect.String:
		return csvFieldAt(offset, func(s string) (string, error) { return s, nil }, func(s string) string { return s }), true
	case reflect.Bool:
		return csvFieldAt(offset, strconv.ParseBool, strconv.FormatBool), true
	case reflect.Int:
		return csvInt[int](offset), true
	case reflect.Int8:
		return csvInt[int8](offset), true
	case reflect.Int16:
		return csvInt[int16](offset), true
	case reflect.Int32:
		return csvInt[int32](offset), true
	case reflect.Int64:
		return csvInt[int64](offset), true
	case reflect.Uint:
		return csvUint[uint](offset), true
	case reflect.Uint8:
		return csvUint[uint8](offset), true
	case reflect.Uint16:
		return csvUint[uint16](offset), true
	case reflect.Uint32:
		return csvUint[uint32](offset), true
	case reflect.Uint64:
		return csvUint[uint64](offset), true
	case reflect.Float32:
		return csvFloat[float32](offset), true
	case reflect.Float64:
		return csvFloat[float64](offset), true
	case reflect.Slice:
		if field.Type.Elem().Kind() == reflect.Uint8 {
			return csvFieldAt(offset, func(s string) ([]byte, error) { return []byte(s), nil }, func(b []byte) string { return string(b) }), true
		}
	}
	return csvField{}, false
}

// csvFieldAt returns the csvField at an offset in a struct. The field's type must have the
// memory layout of F.
func csvFieldAt[F any](offset uintptr, parse func(string) (F, error), format func(F) string) csvField {
	return csvField{
		parse: func(row unsafe.Pointer, text string) (err error) {
			*(*F)(unsafe.Add(row, offset)), err = parse(text)
			return err
		},
		format: func(row unsafe.Pointer) (string, error) { return format(*(*F)(unsafe.Add(row, offset))), nil },
	}
}

func csvInt[F int | int8 | int16 | int32 | int64](offset uintptr) csvField {
	var zero F
	return csvFieldAt(offset, func(s string) (F, error) {
		n, err := strconv.ParseInt(s, 10, int(unsafe.Sizeof(zero))*8)
		return F(n), err
	}, func(n F) string { return strconv.FormatInt(int64(n), 10) })
}

func csvUint[F uint | uint8 | uint16 | uint32 | uint64](offset uintptr) csvField {
	var zero F
	return csvFieldAt(offset, func(s string) (F, error) {
		n, err := strconv.ParseUint(s, 10, int(unsafe.Sizeof(zero))*8)
		return F(n), err
	}, func(n F) string { return strconv.FormatUint(uint64(n), 10) })
}

func csvFloat[F float32 | float64](offset uintptr) csvField {
	var zero F
	bits := int(unsafe.Sizeof(zero)) * 8
	return csvFieldAt(offset, func(s string) (F, error) {
		n, err := strconv.ParseFloat(s, bits)
		return F(n), err
	}, func(n F) string { return strconv.FormatFloat(float64(n), 'g', -1, bits) })
}
