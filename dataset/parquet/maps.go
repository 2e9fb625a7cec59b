package parquet

import (
	"reflect"
	"unsafe"
)

// Columns cannot add entries to a map, because the column of keys is read before the column
// of values. So the memory of a map field first contains a pointer to a slice of entries,
// which both columns fill. When a batch is complete, a finisher replaces this pointer by
// the map.

// entriesOf returns the type of the slice of a map's entries.
func entriesOf(t reflect.Type) reflect.Type {
	return reflect.SliceOf(reflect.StructOf([]reflect.StructField{
		{Name: "Key", Type: t.Key()},
		{Name: "Value", Type: t.Elem()},
	}))
}

// finisher returns a function that replaces the pointers of all maps in a value of f's
// type. The parameter at is the address of the value. finisher returns nil if the type
// contains no maps.
func finisher(f *field) func(at unsafe.Pointer) {
	finish := innerFinisher(f)
	if finish == nil || !f.pointer {
		return finish
	}
	return func(at unsafe.Pointer) {
		if p := *(*unsafe.Pointer)(at); p != nil {
			finish(p)
		}
	}
}

// innerFinisher is like finisher but, if f is a pointer, the returned function is for the
// value to which f points.
func innerFinisher(f *field) func(at unsafe.Pointer) {
	switch f.shape {
	case groupShape:
		return groupFinisher(f)
	case listShape:
		element := finisher(f.children[0])
		if element == nil {
			return nil
		}
		size := f.typ.Elem().Size()
		return func(at unsafe.Pointer) {
			slice := (*sliceHeader)(at)
			for i := range slice.len {
				element(unsafe.Add(slice.data, uintptr(i)*size))
			}
		}
	case mapShape:
		return mapFinisher(f)
	}
	return nil
}

// groupFinisher returns a function that calls the finishers of a group's fields; nil if none of
// them contains a map.
func groupFinisher(f *field) func(at unsafe.Pointer) {
	var finishers []func(at unsafe.Pointer)
	for _, child := range f.children {
		if finish := finisher(child); finish != nil {
			finishers = append(finishers, func(at unsafe.Pointer) { finish(unsafe.Add(at, child.offset)) })
		}
	}
	if finishers == nil {
		return nil
	}
	return func(at unsafe.Pointer) {
		for _, finish := range finishers {
			finish(at)
		}
	}
}

// mapFinisher returns a function that builds a map from its entries. Before, the memory at the
// address at contains the pointer to the slice of entries; afterwards, it contains the map.
func mapFinisher(f *field) func(at unsafe.Pointer) {
	entriesType := entriesOf(f.typ)
	value := finisher(f.children[1])
	return func(at unsafe.Pointer) {
		pointer := *(*unsafe.Pointer)(at)
		if pointer == nil {
			return
		}
		entries := reflect.NewAt(entriesType, pointer).Elem()
		made := reflect.MakeMapWithSize(f.typ, entries.Len())
		for i := range entries.Len() {
			entry := entries.Index(i)
			if value != nil {
				value(entry.Field(1).Addr().UnsafePointer())
			}
			made.SetMapIndex(entry.Field(0), entry.Field(1))
		}
		reflect.NewAt(f.typ, at).Elem().Set(made)
	}
}
