package codec

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

var (
	binaryMarshaler = reflect.TypeFor[encoding.BinaryMarshaler]()
	cborMarshaler   = reflect.TypeFor[cbor.Marshaler]()
)

func check(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	if seen[t] || MarshalsItself(t) {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return fmt.Errorf("%s: a %s cannot be sent between processes", path, t.Kind())
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return check(t.Elem(), path, seen)
	case reflect.Map:
		if err := check(t.Key(), path+" (its keys)", seen); err != nil {
			return err
		}
		return check(t.Elem(), path+" (its values)", seen)
	case reflect.Struct:
		exported := 0
		for i := range t.NumField() {
			field := t.Field(i)
			if !field.IsExported() || field.Tag.Get("cbor") == "-" {
				continue
			}
			exported++
			if err := check(field.Type, path+"."+field.Name, seen); err != nil {
				return err
			}
		}
		if exported == 0 && t.NumField() > 0 {
			return fmt.Errorf("%s: the struct has no exported field, so nothing of it would arrive", path)
		}
	}
	return nil
}

// MarshalsItself reports whether t or *t implements encoding.BinaryMarshaler or cbor.Marshaler.
func MarshalsItself(t reflect.Type) bool {
	for _, candidate := range []reflect.Type{t, reflect.PointerTo(t)} {
		if candidate.Implements(binaryMarshaler) || candidate.Implements(cborMarshaler) {
			return true
		}
	}
	return false
}
