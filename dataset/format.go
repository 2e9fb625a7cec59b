package dataset

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/bobbin-yarn/bobbin/internal/record"
)

// Format is a format of files; see [Of.Save].
type Format int

// Formats of files.
const (
	// AsText writes one line for each element, which must be a string or []byte.
	AsText Format = iota
	// AsJSON writes each element as JSON on a line of its own.
	AsJSON
	// AsCSV writes each element as a record of comma-separated values. See [CSV] for
	// the types of elements.
	AsCSV
)

// lineEncoder returns a function that encodes an element as a line. The line is valid
// until the next call. It fails if the format has no elements of this type.
func lineEncoder[T any](format Format) (func(element T) (line []byte, options error), error) {
	element := reflect.TypeFor[T]()
	var line []byte
	switch format {
	case AsText:
		if element.Kind() != reflect.String && element != reflect.TypeFor[[]byte]() {
			return nil, fmt.Errorf("elements of type %v cannot be written as text: map them to string or []byte first", element)
		}
		description, err := record.CodecFor[T]() // encodes a string or []byte as it is
		return func(element T) ([]byte, error) {
			var err error
			if line, err = description.Append(line[:0], element); err != nil {
				return nil, err
			}
			line = append(line, '\n')
			return line, nil
		}, err
	case AsJSON:
		return func(element T) ([]byte, error) {
			encoded, err := json.Marshal(element)
			return append(encoded, '\n'), err
		}, nil
	case AsCSV:
		rows, err := newCSVConverter[T]()
		encoder := newCSVEncoder()
		var fields []string
		var current T
		return func(element T) ([]byte, error) {
			current = element
			encoded, known := rows.encode(fields[:0], &current)
			if known != nil {
				return nil, known
			}
			if rows.fields != nil {
				fields = encoded
			}
			return encoder.line(encoded)
		}, err
	}
	return nil, fmt.Errorf("the format %d is not known", format)
}

// saver returns the function with which the nodes of a data set write elements.
func saver[T any](s *Of[T]) func(x *taskContext, format Format, partition int, write func(line []byte) error) {
	return func(x *taskContext, format Format, partition int, write func(line []byte) error) {
		encode, err := lineEncoder[T](format)
		if err != nil {
			x.fail(err)
			return
		}
		s.compute(x, partition, func(element T) bool {
			current, err := encode(element)
			if err == nil {
				err = write(current)
			}
			return err == nil || x.fail(err)
		})
	}
}
