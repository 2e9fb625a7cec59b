package dataset

import (
	"reflect"

	"github.com/bobbin-yarn/bobbin/internal/record"
)

// elementCopier copies elements that an operator stores. An element that contains a []byte
// is valid only until the function that received it returns; see [Of]. Elements of other
// types remain valid and are not copied.
type elementCopier[T any] struct {
	codec    *record.Codec[T]
	mustCopy bool // T can contain a []byte
}

// elementCopierOf returns an elementCopier for T. If values of T cannot be encoded, it
// makes the plan invalid.
func elementCopierOf[T any](p *Plan, operator string) elementCopier[T] {
	codec, err := record.CodecFor[T]()
	p.reject(operator, err)
	return elementCopier[T]{codec: codec, mustCopy: hasBytes(reflect.TypeFor[T](), map[reflect.Type]bool{})}
}

// copy returns a copy that remains valid. If the element need not be copied, copy returns
// the element itself.
func (k elementCopier[T]) copy(element T) (T, error) {
	if !k.mustCopy {
		return element, nil
	}
	encoded, err := k.codec.Append(nil, element)
	if err != nil {
		return element, err
	}
	return k.codec.Decode(encoded)
}

// hasBytes reports whether values of a type can contain a []byte.
func hasBytes(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8 || hasBytes(t.Elem(), seen)
	case reflect.Array, reflect.Pointer:
		return hasBytes(t.Elem(), seen)
	case reflect.Map:
		return hasBytes(t.Key(), seen) || hasBytes(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if hasBytes(t.Field(i).Type, seen) {
				return true
			}
		}
	case reflect.Interface:
		return true
	}
	return false
}

// hasNoPointers reports whether values of a type contain no pointers, strings, slices, maps
// or other references to memory outside the value.
func hasNoPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return hasNoPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !hasNoPointers(t.Field(i).Type) {
				return false
			}
		}
		return true
	default:
		return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
	}
}

// containsMap reports whether values of a type can contain a map. The encoding of a map can
// differ from one time to the next, because its entries are in any order.
func containsMap(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer:
		return containsMap(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if containsMap(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return t.Kind() == reflect.Map || t.Kind() == reflect.Interface
}
