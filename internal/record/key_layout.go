package record

import (
	"fmt"
	"reflect"
)

// keyLayout returns the layout of t as a key or as a part of a key. path is the path of t
// within the codec's type, such as T.Field, for error messages.
func keyLayout(t reflect.Type, path string) (layout, error) {
	if l, ok := commonLayout(t, path); ok {
		return l, nil
	}
	switch t.Kind() {
	case reflect.Array:
		elem, err := keyLayout(t.Elem(), path)
		return arrayLayout(t, path, elem), err
	case reflect.Struct:
		l := layout{size: t.Size()}
		for i := range t.NumField() {
			field := t.Field(i)
			if field.Name == "_" {
				continue
			}
			if !isEncoded(field) { // otherwise keys that differ only in this field would have equal encodings
				return layout{}, fmt.Errorf("%s.%s: a field that is not sent cannot be in a key", path, field.Name)
			}
			of, err := keyLayout(field.Type, path+"."+field.Name)
			if err != nil {
				return layout{}, err
			}
			l.add(field.Offset, of)
		}
		return l, nil
	case reflect.Slice:
		return layout{}, fmt.Errorf("%s: a slice other than []byte cannot be a key", path)
	}
	article := "a"
	if t.Kind() == reflect.Interface {
		article = "an"
	}
	return layout{}, fmt.Errorf("%s: %s %s cannot be a key", path, article, t.Kind())
}
