package record

import (
	"fmt"
	"reflect"

	"github.com/bobbin-yarn/bobbin/internal/codec"
)

// A valueLayouter creates the layouts of types of values.
type valueLayouter struct {
	enclosing map[reflect.Type]bool // types that contain the current type; used to detect recursion
}

// layout returns the layout of t. path is the path of t within the codec's type, such as
// T.Field, for error messages.
func (v valueLayouter) layout(t reflect.Type, path string) (layout, error) {
	if l, ok := commonLayout(t, path); ok { // even if t has marshal methods: numbers, strings, bytes and times do not need them
		return l, nil
	}
	if v.enclosing[t] { // t is recursive
		return singleLayout(t, path, codeCBOR, 1), nil
	}
	v.enclosing[t] = true
	defer delete(v.enclosing, t)
	switch t.Kind() {
	case reflect.Complex64:
		return v.complex(t, path, codeFloat32), nil
	case reflect.Complex128:
		return v.complex(t, path, codeFloat64), nil
	case reflect.Pointer:
		elem, err := v.layout(t.Elem(), path)
		if err != nil || v.enclosing[t.Elem()] {
			return singleLayout(t, path, codeCBOR, 1), err
		}
		pointer := singleLayout(t.Elem(), path, codePointer, 1)
		pointer.parts[0].elem, pointer.size, pointer.needsHeap = &elem, t.Size(), elem.needsHeap
		return pointer, nil
	case reflect.Array:
		elem, err := v.layout(t.Elem(), path)
		return arrayLayout(t, path, elem), err
	case reflect.Slice:
		if codec.MarshalsItself(t) {
			return singleLayout(t, path, codeCBOR, 1), nil
		}
		return v.slice(t, path)
	case reflect.Struct:
		if codec.MarshalsItself(t) {
			return singleLayout(t, path, codeCBOR, 1), nil
		}
		return v.structure(t, path)
	case reflect.Map, reflect.Interface:
		return singleLayout(t, path, codeCBOR, 1), nil
	}
	return layout{}, fmt.Errorf("%s: a %s cannot be sent between processes", path, t.Kind())
}

// complex returns the layout of a complex number, which consists of two floats. The parameter
// float is the code of each of them.
func (v valueLayouter) complex(t reflect.Type, path string, float code) layout {
	l := layout{size: t.Size()}
	for offset := uintptr(0); offset < t.Size(); offset += t.Size() / 2 {
		l.add(offset, layout{parts: []part{{code: float, path: path}}, min: int(t.Size() / 2)})
	}
	return l
}

func (v valueLayouter) slice(t reflect.Type, path string) (layout, error) {
	elem, err := v.layout(t.Elem(), path)
	if err != nil {
		return layout{}, err
	}
	// If elements could be encoded as zero bytes, a malformed encoding of a few bytes could
	// specify a slice of any length.
	if elem.min == 0 || v.enclosing[t.Elem()] {
		return singleLayout(t, path, codeCBOR, 1), nil
	}
	slice := singleLayout(t, path, codeSlice, 1)
	switch {
	case t.Elem().Kind() == reflect.String:
		slice.parts[0].code = codeStrings
	case !hasPointers(t.Elem()):
		slice.parts[0].code = codeFlatSlice
	}
	slice.parts[0].elem, slice.needsHeap = &elem, elem.needsHeap
	return slice, nil
}

func (v valueLayouter) structure(t reflect.Type, path string) (layout, error) {
	l := layout{size: t.Size()}
	sent := 0
	for i := range t.NumField() {
		field := t.Field(i)
		if !isEncoded(field) {
			if field.Anonymous && field.Type.Kind() == reflect.Pointer && !field.IsExported() && field.Tag.Get("cbor") != "-" {
				return layout{}, fmt.Errorf("%s.%s: an embedded pointer to an unexported type cannot be sent between processes", path, field.Name)
			}
			continue
		}
		sent++
		of, err := v.layout(field.Type, path+"."+field.Name)
		if err != nil {
			return layout{}, err
		}
		l.add(field.Offset, of)
	}
	if sent == 0 && t.NumField() > 0 {
		return layout{}, fmt.Errorf("%s: the struct has no exported field, so nothing of it would arrive", path)
	}
	return l, nil
}

// isEncoded reports whether a field of a struct is encoded. Such a field is exported, or is an
// embedded struct with an encoded field, and it does not have the tag cbor:"-".
func isEncoded(field reflect.StructField) bool {
	if field.Tag.Get("cbor") == "-" {
		return false
	}
	if !field.IsExported() && field.Anonymous && field.Type.Kind() == reflect.Struct {
		for i := range field.Type.NumField() {
			if isEncoded(field.Type.Field(i)) {
				return true
			}
		}
	}
	return field.IsExported()
}

func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return t.Kind() > reflect.Complex128
}
