package dataset

import (
	"bufio"
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
)

// check returns an error if elements of a type cannot be written in the format.
func (f Format) check(element reflect.Type) error {
	switch {
	case f == AsText && element.Kind() != reflect.String && element != reflect.TypeFor[[]byte]():
		return fmt.Errorf("elements of type %v cannot be written as text: map them to string or []byte first", element)
	case f < AsText || f > AsJSON:
		return fmt.Errorf("the format %d is not known", f)
	}
	return nil
}

// saver returns the function with which the nodes of a data set write elements.
func saver[T any](s *Of[T]) func(x *execution, format Format, partition int, add func(line []byte) error) {
	return func(x *execution, format Format, partition int, add func(line []byte) error) {
		line := func(element T) ([]byte, error) { return json.Marshal(element) }
		if format == AsText {
			text, err := record.CodecFor[T]() // encodes a string or []byte as it is
			if err != nil {
				x.fail(err)
				return
			}
			var buffer []byte
			line = func(element T) ([]byte, error) {
				var err error
				buffer, err = text.Append(buffer[:0], element)
				return buffer, err
			}
		}
		s.each(x, partition, func(element T) bool {
			encoded, err := line(element)
			if err == nil {
				err = add(encoded)
			}
			return err == nil || x.fail(err)
		})
	}
}

// save computes partitions and writes their elements to one part of the output.
func (s *stageWork) save(x *execution, partitions span) (elements int64, err error) {
	part, err := s.Output.Part(x.task, x.task.Index(), x.task.Attempt())
	if err != nil {
		return 0, err
	}
	defer func() { _ = part.Abort() }() // no effect after Commit
	file := bufio.NewWriterSize(part, 256<<10)
	err = x.over(partitions, func(partition int) {
		s.final.save(x, s.Format, partition, func(line []byte) error {
			elements++
			if _, err := file.Write(line); err != nil {
				return err
			}
			return file.WriteByte('\n')
		})
	})
	if err != nil {
		return 0, err
	}
	if err := file.Flush(); err != nil {
		return 0, err
	}
	return elements, x.task.CommitOutput(part.Commit)
}
