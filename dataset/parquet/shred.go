package parquet

import (
	"reflect"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// levels are the definition level and the repetition level of a field's values that are not
// null.
type levels struct{ def, rep int16 }

// build sets e.write and e.columns for rows of a type, and returns the schema of files with
// such rows.
func (e *encoder) build(row *field) (*schema.GroupNode, error) {
	nodes, write, err := e.group(row, levels{})
	if err != nil {
		return nil, err
	}
	e.write = write
	return schema.NewGroupNode("row", parquet.Repetitions.Required, nodes, -1)
}

// group returns the schema nodes of a struct's fields, and the shredder for the struct.
func (e *encoder) group(f *field, l levels) (schema.FieldList, shredder, error) {
	var nodes schema.FieldList
	var writers []shredder
	for _, child := range f.children {
		node, write, err := e.node(child, child.name, l)
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, node)
		offset := child.offset
		writers = append(writers, func(at unsafe.Pointer, rep, def int16) error {
			if at != nil {
				at = unsafe.Add(at, offset)
			}
			return write(at, rep, def)
		})
	}
	return nodes, func(at unsafe.Pointer, rep, def int16) error {
		for _, write := range writers {
			if err := write(at, rep, def); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// node returns the schema node of a field, and the shredder for its values. l has the
// levels of the struct, list or map around the field.
func (e *encoder) node(f *field, name string, l levels) (schema.Node, shredder, error) {
	repetition := parquet.Repetitions.Required
	if f.pointer || f.shape == listShape || f.shape == mapShape || f.typ.Kind() == reflect.Slice {
		repetition = parquet.Repetitions.Optional
		l.def++
	}
	var node schema.Node
	var write shredder
	var err error
	switch f.shape {
	case valueShape:
		node, write, err = e.value(f, name, repetition, l)
	case groupShape:
		var nodes schema.FieldList
		if nodes, write, err = e.group(f, l); err == nil {
			node, err = schema.NewGroupNode(name, repetition, nodes, -1)
		}
	case listShape:
		node, write, err = e.list(f, name, l)
	case mapShape:
		node, write, err = e.entries(f, name, l)
	}
	if err != nil || !f.pointer {
		return node, write, err
	}
	return node, func(at unsafe.Pointer, rep, def int16) error {
		if at != nil {
			if at = *(*unsafe.Pointer)(at); at != nil {
				def = l.def
			}
		}
		return write(at, rep, def)
	}, nil
}

// list returns the schema node of a slice, and the shredder for it.
func (e *encoder) list(f *field, name string, l levels) (schema.Node, shredder, error) {
	present := l.def
	l.def++
	l.rep++
	element, write, err := e.node(f.children[0], "element", l)
	if err != nil {
		return nil, nil, err
	}
	repeated, err := schema.NewGroupNode("list", parquet.Repetitions.Repeated, schema.FieldList{element}, -1)
	if err != nil {
		return nil, nil, err
	}
	node, err := schema.NewGroupNodeLogical(name, parquet.Repetitions.Optional, schema.FieldList{repeated}, schema.NewListLogicalType(), -1)
	size := f.typ.Elem().Size()
	return node, func(at unsafe.Pointer, rep, def int16) error {
		if at == nil {
			return write(nil, rep, def)
		}
		slice := (*sliceHeader)(at)
		if slice.len == 0 {
			if slice.data != nil {
				def = present
			}
			return write(nil, rep, def)
		}
		for i := range slice.len {
			if err := write(unsafe.Add(slice.data, uintptr(i)*size), rep, l.def); err != nil {
				return err
			}
			rep = l.rep
		}
		return nil
	}, err
}

// entries returns the schema node of a map, and the shredder for it.
func (e *encoder) entries(f *field, name string, l levels) (schema.Node, shredder, error) {
	present := l.def
	l.def++
	l.rep++
	key, writeKey, err := e.node(f.children[0], "key", l)
	if err != nil {
		return nil, nil, err
	}
	value, writeValue, err := e.node(f.children[1], "value", l)
	if err != nil {
		return nil, nil, err
	}
	repeated, err := schema.NewGroupNode("key_value", parquet.Repetitions.Repeated, schema.FieldList{key, value}, -1)
	if err != nil {
		return nil, nil, err
	}
	node, err := schema.NewGroupNodeLogical(name, parquet.Repetitions.Optional, schema.FieldList{repeated}, schema.MapLogicalType{}, -1)
	write := func(key, value unsafe.Pointer, rep, def int16) error {
		if err := writeKey(key, rep, def); err != nil {
			return err
		}
		return writeValue(value, rep, def)
	}
	keyOf, valueOf := reflect.New(f.typ.Key()), reflect.New(f.typ.Elem())
	return node, func(at unsafe.Pointer, rep, def int16) error {
		if at == nil {
			return write(nil, nil, rep, def)
		}
		m := reflect.NewAt(f.typ, at).Elem()
		if m.Len() == 0 {
			if !m.IsNil() {
				def = present
			}
			return write(nil, nil, rep, def)
		}
		for entries := m.MapRange(); entries.Next(); {
			keyOf.Elem().SetIterKey(entries)
			valueOf.Elem().SetIterValue(entries)
			if err := write(keyOf.UnsafePointer(), valueOf.UnsafePointer(), rep, l.def); err != nil {
				return err
			}
			rep = l.rep
		}
		return nil
	}, err
}
