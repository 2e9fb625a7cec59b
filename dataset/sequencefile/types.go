package sequencefile

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataset"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/writable"
)

// classPrefix is the Java package of the classes of keys and values.
const classPrefix = "org.apache.hadoop.io."

// goTypes describes, for each class, the Go types into which its values are read.
var goTypes = map[string]string{
	"Text": "string or []byte", "BytesWritable": "[]byte or string", "IntWritable": "int32, int64 or int",
	"LongWritable": "int64 or int", "FloatWritable": "float32 or float64", "DoubleWritable": "float64",
	"BooleanWritable": "bool", "NullWritable": "struct{}",
}

// fixedSizes has the size in bytes of the values of each class whose values all have the
// same size.
var fixedSizes = map[string]int{
	"IntWritable": 4, "LongWritable": 8, "FloatWritable": 4, "DoubleWritable": 8, "BooleanWritable": 1, "NullWritable": 0,
}

// decoderOf returns a function that decodes values of a class into a T. what is "keys" or
// "values", for errors. A decoded []byte shares the memory of the encoded value.
func decoderOf[T any](class, what string) (func(encoded []byte, target *T) error, error) {
	name, ours := strings.CutPrefix(class, classPrefix)
	types := goTypes[name]
	if !ours || types == "" {
		return nil, dataset.Malformed(fmt.Errorf("the %s have the class %s, which only Java code can read: write the file with one of Text, BytesWritable, IntWritable, LongWritable, FloatWritable, DoubleWritable, BooleanWritable and NullWritable", what, class))
	}
	var target any = new(T)
	var set func(target any, encoded []byte)
	switch target.(type) {
	case *string:
		if name == "Text" || name == "BytesWritable" {
			set = func(target any, b []byte) { *target.(*string) = string(b) }
		}
	case *[]byte:
		if name == "Text" || name == "BytesWritable" {
			set = func(target any, b []byte) { *target.(*[]byte) = b }
		}
	case *int32:
		if name == "IntWritable" {
			set = func(target any, b []byte) { *target.(*int32) = int32(binary.BigEndian.Uint32(b)) }
		}
	case *int64:
		if name == "IntWritable" {
			set = func(target any, b []byte) { *target.(*int64) = int64(int32(binary.BigEndian.Uint32(b))) }
		} else if name == "LongWritable" {
			set = func(target any, b []byte) { *target.(*int64) = int64(binary.BigEndian.Uint64(b)) }
		}
	case *int:
		if name == "IntWritable" {
			set = func(target any, b []byte) { *target.(*int) = int(int32(binary.BigEndian.Uint32(b))) }
		} else if name == "LongWritable" {
			set = func(target any, b []byte) { *target.(*int) = int(int64(binary.BigEndian.Uint64(b))) }
		}
	case *float32:
		if name == "FloatWritable" {
			set = func(target any, b []byte) { *target.(*float32) = math.Float32frombits(binary.BigEndian.Uint32(b)) }
		}
	case *float64:
		if name == "FloatWritable" {
			set = func(target any, b []byte) {
				*target.(*float64) = float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
			}
		} else if name == "DoubleWritable" {
			set = func(target any, b []byte) { *target.(*float64) = math.Float64frombits(binary.BigEndian.Uint64(b)) }
		}
	case *bool:
		if name == "BooleanWritable" {
			set = func(target any, b []byte) { *target.(*bool) = b[0] != 0 }
		}
	case *struct{}:
		if name == "NullWritable" {
			set = func(any, []byte) {}
		}
	}
	if set == nil {
		return nil, dataset.Malformed(fmt.Errorf("the %s have the class %s, which is not read into %v: read them into %s", what, class, reflect.TypeFor[T](), types))
	}
	return func(encoded []byte, target *T) error {
		content, err := contentOf(name, encoded)
		if err != nil {
			return dataset.Malformed(fmt.Errorf("one of the %s is no %s: %w", what, name, err))
		}
		set(target, content)
		return nil
	}, nil
}

// contentOf checks the length of an encoded value of a class. It returns the value without
// the length, with which the encodings of Text and BytesWritable begin.
func contentOf(class string, encoded []byte) ([]byte, error) {
	length := int64(fixedSizes[class])
	switch class {
	case "Text":
		var err error
		if length, encoded, err = writable.VInt(encoded); err != nil {
			return nil, err
		}
	case "BytesWritable":
		if len(encoded) < 4 {
			return nil, writable.ErrTruncated
		}
		length, encoded = int64(int32(binary.BigEndian.Uint32(encoded))), encoded[4:]
	}
	if length != int64(len(encoded)) {
		return nil, fmt.Errorf("it has %d bytes instead of %d", len(encoded), length)
	}
	return encoded, nil
}

// encoder encodes keys or values.
type encoder struct {
	class  string
	append func(b []byte, value any) []byte // appends the value that value points to
}

// encoders has the encoder for each Go type.
var encoders = map[reflect.Type]encoder{
	reflect.TypeFor[string](): {"Text", func(b []byte, value any) []byte {
		text := *value.(*string)
		return append(writable.AppendVInt(b, int64(len(text))), text...)
	}},
	reflect.TypeFor[[]byte](): {"BytesWritable", func(b []byte, value any) []byte {
		content := *value.(*[]byte)
		return append(binary.BigEndian.AppendUint32(b, uint32(len(content))), content...)
	}},
	reflect.TypeFor[int32](): {"IntWritable", func(b []byte, value any) []byte {
		return binary.BigEndian.AppendUint32(b, uint32(*value.(*int32)))
	}},
	reflect.TypeFor[int64](): {"LongWritable", func(b []byte, value any) []byte {
		return binary.BigEndian.AppendUint64(b, uint64(*value.(*int64)))
	}},
	reflect.TypeFor[int](): {"LongWritable", func(b []byte, value any) []byte {
		return binary.BigEndian.AppendUint64(b, uint64(*value.(*int)))
	}},
	reflect.TypeFor[float32](): {"FloatWritable", func(b []byte, value any) []byte {
		return binary.BigEndian.AppendUint32(b, math.Float32bits(*value.(*float32)))
	}},
	reflect.TypeFor[float64](): {"DoubleWritable", func(b []byte, value any) []byte {
		return binary.BigEndian.AppendUint64(b, math.Float64bits(*value.(*float64)))
	}},
	reflect.TypeFor[bool](): {"BooleanWritable", func(b []byte, value any) []byte {
		if *value.(*bool) {
			return append(b, 1)
		}
		return append(b, 0)
	}},
	reflect.TypeFor[struct{}](): {"NullWritable", func(b []byte, _ any) []byte { return b }},
}

// encoderOf returns the encoder for keys or values of type t. what is "keys" or "values",
// for errors.
func encoderOf(t reflect.Type, what string) (encoder, error) {
	e, known := encoders[t]
	if !known {
		var types []string
		for t := range encoders {
			types = append(types, t.String())
		}
		slices.Sort(types)
		return e, fmt.Errorf("%s of type %v have no class in SequenceFiles: map them to one of %s first", what, t, strings.Join(types, ", "))
	}
	return e, nil
}
