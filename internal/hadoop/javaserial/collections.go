package javaserial

import (
	"encoding/binary"
	"fmt"
)

// List returns the elements of value, which must be a java.util.ArrayList or nil. It returns
// nil if value is nil.
func List(value any) ([]any, error) {
	if value == nil {
		return nil, nil
	}
	object, ok := value.(*Object)
	if !ok || object.Class != "java.util.ArrayList" {
		return nil, fmt.Errorf("%w: %s where a list should be", ErrFormat, describe(value))
	}
	size, ok := object.Fields["size"].(int32)
	elements := object.Data
	if len(elements) > 0 {
		if _, isCapacity := elements[0].([]byte); isCapacity {
			elements = elements[1:]
		}
	}
	if !ok || int(size) != len(elements) {
		return nil, fmt.Errorf("%w: a list has %d elements and says that it has %v", ErrFormat, len(elements), object.Fields["size"])
	}
	return elements, nil
}

// Entry is an entry of a Java map.
type Entry struct{ Key, Value any }

// Map returns the entries of value in the order of the stream. value must be a
// java.util.HashMap or nil. Map returns nil if value is nil.
func Map(value any) ([]Entry, error) {
	if value == nil {
		return nil, nil
	}
	object, ok := value.(*Object)
	if !ok || object.Class != "java.util.HashMap" {
		return nil, fmt.Errorf("%w: %s where a map should be", ErrFormat, describe(value))
	}
	if len(object.Data) == 0 {
		return nil, fmt.Errorf("%w: a map does not say how many entries it has", ErrFormat)
	}
	sizes, ok := object.Data[0].([]byte) // the numbers of buckets and of entries, 4 bytes each
	if !ok || len(sizes) != 8 {
		return nil, fmt.Errorf("%w: a map does not say how many entries it has", ErrFormat)
	}
	rest := object.Data[1:]
	if size := binary.BigEndian.Uint32(sizes[4:]); int64(len(rest)) != 2*int64(size) {
		return nil, fmt.Errorf("%w: a map has %d keys and values and says that it has %d entries", ErrFormat, len(rest), size)
	}
	entries := make([]Entry, 0, len(rest)/2)
	for i := 0; i < len(rest); i += 2 {
		entries = append(entries, Entry{rest[i], rest[i+1]})
	}
	return entries, nil
}

func describe(value any) string {
	switch value := value.(type) {
	case *Object:
		return "an object of " + value.Class
	case nil:
		return "nothing"
	}
	return fmt.Sprintf("a %T", value)
}
