package record

import (
	"fmt"
	"math/bits"
	"reflect"
	"time"
)

// A layout says where in a type's memory its parts are: the fields of structs in
// structs are in one list. Codecs interpret it, in static calls only: so the
// compiler sees that they do not keep addresses, and values stay on the stack.
type layout struct {
	parts     []part
	size      uintptr // of the type
	min       int     // the fewest bytes that a value is encoded as
	needsHeap bool    // a part is encoded by reflection: values must be on the heap
}

// A part is a value that is no struct.
type part struct {
	code   code
	offset uintptr
	path   string       // T.Field, for errors
	count  int          // of an array: its length
	t      reflect.Type // of a part that reflection allocates or encodes
	elem   *layout      // of arrays, slices and pointers
}

// A code says how a part is encoded.
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

	// Not in keys:
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

// singleLayout is the layout of a type that has one part.
func singleLayout(t reflect.Type, path string, code code, min int) layout {
	return layout{parts: []part{{code: code, path: path, t: t}}, size: t.Size(), min: min, needsHeap: code == codeCBOR}
}

// kinds are the kinds whose values have one part, with the fewest bytes of a value.
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

// commonLayout returns the layout of a type that values and keys treat alike.
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

// arrayLayout returns the layout of an array type.
func arrayLayout(t reflect.Type, path string, elem layout) layout {
	if t.Len() == 0 || len(elem.parts) == 0 {
		return layout{size: t.Size()}
	}
	all := singleLayout(t, path, codeArray, elem.min*t.Len())
	all.parts[0].count, all.parts[0].elem, all.needsHeap = t.Len(), &elem, elem.needsHeap
	return all
}

// shortcut returns how t is encoded if codecs have a case for it that skips the parts,
// else codeNone.
func (l *layout) shortcut(t reflect.Type) code {
	if len(l.parts) == 1 && l.parts[0].t == t {
		switch code := l.parts[0].code; code {
		case codeString, codeBytes, codeInt64, codeCBOR:
			return code
		}
	}
	return codeNone
}

// add adds a field of a struct.
func (l *layout) add(offset uintptr, field layout) {
	for _, part := range field.parts {
		part.offset += offset
		l.parts = append(l.parts, part)
	}
	l.min += field.min
	l.needsHeap = l.needsHeap || field.needsHeap
}

// isFloat reports whether l is the layout of a float64: slices of them are encoded
// and decoded without a step for each.
func (l *layout) isFloat() bool {
	return len(l.parts) == 1 && l.parts[0].code == codeFloat64 && l.size == 8
}

// error returns an error that names the part.
func (p *part) error(format string, args ...any) error {
	return fmt.Errorf("%s: "+format, append([]any{p.path}, args...)...)
}
