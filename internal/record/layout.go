package record

import (
	"fmt"
	"math/bits"
	"reflect"
	"time"
)

// A layout lists the parts of a type with their offsets in a value. It includes the fields of
// nested structs, so a struct is not a part itself. Codecs interpret a layout in functions that
// call each other statically. So the compiler can prove that the addresses of values do not
// escape, and leaves values on the stack.
type layout struct {
	parts     []part
	size      uintptr // size of the type in bytes
	min       int     // length in bytes of the shortest encoding of a value
	needsHeap bool    // values must be on the heap, because a part is encoded by reflection
}

// A part is a component of a value that is encoded by itself. A struct is not a part, but its
// fields are.
type part struct {
	code   code
	offset uintptr
	path   string       // path within the codec's type, such as T.Field, for error messages
	count  int          // length of an array
	t      reflect.Type // the part's type; for a pointer, the type to which it points
	elem   *layout      // layout of the elements of an array or slice, or of the value to which a pointer points
}

// A code is the way in which a part is encoded.
type code uint8

const (
	codeNone code = iota
	codeBool
	codeInt8
	codeInt16
	codeInt32
	codeInt64
	codeUint8
	codeUint16
	codeUint32
	codeUint64
	codeFloat32
	codeFloat64
	codeString
	codeBytes
	codeTime
	codeByteArray
	codeArray

	// Codes that do not occur in keys:
	codeSlice
	codeStrings   // a slice of strings
	codeFlatSlice // a slice of elements without pointers
	codePointer
	codeCBOR
)

var codeNames = [...]string{
	codeBool: "bool", codeInt8: "int8", codeInt16: "int16", codeInt32: "int32", codeInt64: "int64",
	codeUint8: "uint8", codeUint16: "uint16", codeUint32: "uint32", codeUint64: "uint64",
	codeFloat32: "float32", codeFloat64: "float64", codeString: "string", codeBytes: "[]byte",
	codeTime: "time.Time", codeByteArray: "array of bytes", codeArray: "array",
	codeSlice: "slice", codeStrings: "slice of strings", codeFlatSlice: "slice", codePointer: "pointer", codeCBOR: "CBOR",
}

var timeType = reflect.TypeFor[time.Time]()

// singleLayout returns the layout of a type that consists of one part.
func singleLayout(t reflect.Type, path string, code code, min int) layout {
	return layout{parts: []part{{code: code, path: path, t: t}}, size: t.Size(), min: min, needsHeap: code == codeCBOR}
}

// kinds maps each kind of type that is a single part to its code and the length of its shortest
// encoding.
var kinds = map[reflect.Kind]struct {
	code code
	min  int
}{
	reflect.Bool: {codeBool, 1},
	reflect.Int8: {codeInt8, 1}, reflect.Int16: {codeInt16, 1}, reflect.Int32: {codeInt32, 1}, reflect.Int64: {codeInt64, 1},
	reflect.Uint8: {codeUint8, 1}, reflect.Uint16: {codeUint16, 1}, reflect.Uint32: {codeUint32, 1}, reflect.Uint64: {codeUint64, 1},
	reflect.Int: {codeInt, 1}, reflect.Uint: {codeUint, 1}, reflect.Uintptr: {codeUint, 1},
	reflect.Float32: {codeFloat32, 4}, reflect.Float64: {codeFloat64, 8},
	reflect.String: {codeString, 1},
}

// The codes of int and uint.
const (
	codeInt  = codeInt32 + bits.UintSize/64
	codeUint = codeUint32 + bits.UintSize/64
)

// commonLayout returns the layout of a type that is encoded with the same codes in values and
// in keys. It returns false for other types.
func commonLayout(t reflect.Type, path string) (layout, bool) {
	kind := t.Kind()
	if known, ok := kinds[kind]; ok {
		return singleLayout(t, path, known.code, known.min), true
	}
	switch {
	case t == timeType:
		return singleLayout(t, path, codeTime, 16), true
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return singleLayout(t, path, codeBytes, 1), true
	case kind == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		array := singleLayout(t, path, codeByteArray, t.Len())
		array.parts[0].count = t.Len()
		return array, true
	}
	return layout{}, false
}

func arrayLayout(t reflect.Type, path string, elem layout) layout {
	if t.Len() == 0 || len(elem.parts) == 0 {
		return layout{size: t.Size()}
	}
	all := singleLayout(t, path, codeArray, elem.min*t.Len())
	all.parts[0].count, all.parts[0].elem, all.needsHeap = t.Len(), &elem, elem.needsHeap
	return all
}

// shortcut returns the code of t if t is a single part for which Codec and KeyCodec have a fast
// path that does not interpret the layout. Otherwise it returns codeNone. l must be the layout
// of t.
func (l *layout) shortcut(t reflect.Type) code {
	if len(l.parts) == 1 && l.parts[0].t == t {
		switch code := l.parts[0].code; code {
		case codeString, codeBytes, codeInt64, codeCBOR:
			return code
		}
	}
	return codeNone
}

// add adds the layout of a struct's field, which begins at the given offset in the struct.
func (l *layout) add(offset uintptr, field layout) {
	for _, part := range field.parts {
		part.offset += offset
		l.parts = append(l.parts, part)
	}
	l.min += field.min
	l.needsHeap = l.needsHeap || field.needsHeap
}

// isFloat reports whether l is the layout of a float64. Slices and arrays of float64 are
// encoded and decoded without interpreting l for each element.
func (l *layout) isFloat() bool {
	return len(l.parts) == 1 && l.parts[0].code == codeFloat64 && l.size == 8
}

// error returns an error whose message begins with the path of the part.
func (p *part) error(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{p.path}, args...)...)
}
