package parquet

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// binder maps the columns of a file to the fields of rows.
type binder struct {
	schema  *schema.Schema
	columns []column
}

// columnPath describes how to get from the address of a row to a part of the row.
type columnPath struct {
	steps    []step
	offset   uintptr // added to the address after the steps
	def, rep int16   // definition and repetition level of the part
}

// withStep returns the path with a further step, after which the offset is 0.
func (w columnPath) withStep(s step) columnPath {
	w.steps, w.offset = append(slices.Clip(w.steps), s), 0
	return w
}

// bind returns the columns of a file that must be read: the columns of row's fields and the
// columns of predicates. Columns with predicates are first.
func bind(s *schema.Schema, row *field, predicates []predicate) ([]column, error) {
	b := binder{schema: s}
	if err := b.group(row, s.Root(), columnPath{}); err != nil {
		return nil, err
	}
	for _, p := range predicates {
		if err := b.predicate(p); err != nil {
			return nil, fmt.Errorf("Where(%q, %v, %v): %w", p.column, p.op, p.value, err)
		}
	}
	slices.SortStableFunc(b.columns, func(x, y column) int {
		switch {
		case x.filters() == y.filters():
			return 0
		case x.filters():
			return -1
		}
		return 1
	})
	return b.columns, nil
}

// group binds the fields of the struct f, to which the path w leads, to the columns of
// node.
func (b *binder) group(f *field, node *schema.GroupNode, w columnPath) error {
	for _, child := range f.children {
		i := findField(node, child.name)
		if i < 0 {
			if child.optional {
				continue
			}
			return fmt.Errorf("there is no column %q for %s: %s", child.name, child, describeFields(node))
		}
		to := w
		to.offset += child.offset
		if err := b.node(child, node.Field(i), to); err != nil {
			return err
		}
	}
	return nil
}

// findField returns the index of the field with the name. If there is no such field, but
// exactly one field whose name differs only in upper and lower case, it returns the index
// of this field. Otherwise it returns -1.
func findField(node *schema.GroupNode, name string) int {
	found := -1
	for i := range node.NumFields() {
		other := node.Field(i).Name()
		if other == name {
			return i
		}
		if strings.EqualFold(other, name) {
			if found >= 0 {
				found = -2
			} else if found == -1 {
				found = i
			}
		}
	}
	return max(found, -1)
}

// describeFields returns the names of a group's fields, for messages.
func describeFields(node *schema.GroupNode) string {
	var names []string
	for i := range min(node.NumFields(), 30) {
		names = append(names, node.Field(i).Name())
	}
	if node.NumFields() > len(names) {
		names = append(names, "…")
	}
	return fmt.Sprintf("there are %q", names)
}

// node binds the field f, to which the path w leads, to node.
func (b *binder) node(f *field, node schema.Node, w columnPath) error {
	if node.RepetitionType() == parquet.Repetitions.Repeated {
		if f.shape != listShape { // old writers write lists that cannot be null as repeated columns
			return fmt.Errorf("column %q is repeated: %s is not a slice", node.Path(), f)
		}
		return b.elements(f, node, w, w.def)
	}
	optional := node.RepetitionType() == parquet.Repetitions.Optional
	if optional {
		w.def++
	}
	if f.shape == valueShape {
		primitive, ok := node.(*schema.PrimitiveNode)
		if !ok {
			return fmt.Errorf("column %q is a group: %s cannot have its values", node.Path(), f)
		}
		return b.value(f, primitive, w)
	}
	group, ok := node.(*schema.GroupNode)
	if !ok {
		column := b.schema.Column(b.schema.ColumnIndexByNode(node))
		return mismatch(f, column)
	}
	switch f.shape {
	case listShape:
		if group.NumFields() != 1 || group.Field(0).RepetitionType() != parquet.Repetitions.Repeated {
			return fmt.Errorf("column %q is a group, but not a list: %s is a slice", node.Path(), f)
		}
		return b.elements(f, group.Field(0), w, w.def)
	case mapShape:
		return b.entries(f, group, w)
	}
	if f.pointer {
		w = w.withStep(newPointerStep(w.offset, w.def, f.typ))
	} else if optional {
		w = w.withStep(step{kind: requiredStep, offset: w.offset, def: w.def})
	}
	return b.group(f, group, w)
}

// elements binds the elements of the list f to repeated, the list's repeated node. present
// is the lowest definition level at which the list is not null.
func (b *binder) elements(f *field, repeated schema.Node, w columnPath, present int16) error {
	w.def++
	w.rep++
	w = w.withStep(newListStep(w.offset, present, w.def, w.rep, f.typ))
	element := f.children[0]
	group, ok := repeated.(*schema.GroupNode)
	if ok && isElementWrapper(group) && (element.shape != groupShape || group.Field(0).Type() == schema.Group) {
		return b.node(element, group.Field(0), w)
	}
	if !ok {
		if element.shape != valueShape {
			return fmt.Errorf("column %q has single values: %s cannot have them", repeated.Path(), element)
		}
		return b.value(element, repeated.(*schema.PrimitiveNode), w)
	}
	if element.shape != groupShape {
		return fmt.Errorf("column %q is a group: %s cannot have its values", repeated.Path(), element)
	}
	if element.pointer {
		w = w.withStep(newPointerStep(w.offset, w.def, element.typ))
	}
	return b.group(element, group, w)
}

// isElementWrapper reports whether the repeated group of a list is a wrapper that contains
// the element as its only field, so that the element can be null. Otherwise the group is
// the element itself. The rules are in LogicalTypes.md of parquet-format, and also cover
// files that old versions of Avro, Thrift and Hive wrote.
func isElementWrapper(group *schema.GroupNode) bool {
	if group.NumFields() != 1 || group.Name() == "array" {
		return false
	}
	parent := group.Parent()
	return parent == nil || group.Name() != parent.Name()+"_tuple"
}

// entries binds the keys and values of the map f.
func (b *binder) entries(f *field, group *schema.GroupNode, w columnPath) error {
	var entry *schema.GroupNode
	if group.NumFields() == 1 && group.Field(0).RepetitionType() == parquet.Repetitions.Repeated {
		entry, _ = group.Field(0).(*schema.GroupNode)
	}
	if entry == nil || entry.NumFields() != 2 {
		return fmt.Errorf("column %q is a group, but not a map: %s is one", group.Path(), f)
	}
	slice := entriesOf(f.typ)
	w = w.withStep(newPointerStep(w.offset, w.def, slice))
	present := w.def
	w.def++
	w.rep++
	w = w.withStep(newListStep(0, present, w.def, w.rep, slice))
	for i, child := range f.children {
		to := w
		to.offset = slice.Elem().Field(i).Offset
		if err := b.node(child, entry.Field(i), to); err != nil {
			return err
		}
	}
	return nil
}

// value binds a field to a single column.
func (b *binder) value(f *field, node *schema.PrimitiveNode, w columnPath) error {
	if f.pointer {
		w = w.withStep(newPointerStep(w.offset, w.def, f.typ))
	}
	number := b.schema.ColumnIndexByNode(node)
	descriptor := b.schema.Column(number)
	c := newColumn(f, descriptor, number, w)
	if c == nil {
		return mismatch(f, descriptor)
	}
	b.columns = append(b.columns, c)
	return nil
}

// newColumn returns a column that stores its values in f. It returns nil if the type of f
// cannot represent the values. If f is nil, the column only tests predicates.
func newColumn(f *field, d *schema.Column, number int, w columnPath) column {
	switch d.PhysicalType() {
	case parquet.Types.Boolean:
		return columnOf(f, d, number, w, func() *setter[bool] {
			if f.typ.Kind() == reflect.Bool {
				return copySetter[bool]()
			}
			return nil
		})
	case parquet.Types.Int32:
		return columnOf(f, d, number, w, func() *setter[int32] { return int32Setter(f, d) })
	case parquet.Types.Int64:
		return columnOf(f, d, number, w, func() *setter[int64] { return int64Setter(f, d) })
	case parquet.Types.Int96:
		return columnOf(f, d, number, w, func() *setter[parquet.Int96] { return int96Setter(f) })
	case parquet.Types.Float:
		return columnOf(f, d, number, w, func() *setter[float32] { return float32Setter(f) })
	case parquet.Types.Double:
		return columnOf(f, d, number, w, func() *setter[float64] {
			if f.typ.Kind() == reflect.Float64 {
				return copySetter[float64]()
			}
			return nil
		})
	case parquet.Types.ByteArray:
		return bytesColumn[parquet.ByteArray](f, d, number, w)
	case parquet.Types.FixedLenByteArray:
		return bytesColumn[parquet.FixedLenByteArray](f, d, number, w)
	}
	return nil
}

func bytesColumn[P byteValues](f *field, d *schema.Column, number int, w columnPath) column {
	kept := &byteCopies{}
	c := columnOf(f, d, number, w, func() *setter[P] { return bytesSetter[P](f, d, kept) })
	if t, ok := c.(*typedColumn[P]); ok && f != nil && f.typ.Kind() == reflect.Slice {
		t.kept = kept
	}
	return c
}

// columnOf is newColumn for columns of the physical type P. newSetter returns the setter
// for f, or nil if the type of f cannot represent the values.
func columnOf[P any](f *field, d *schema.Column, number int, w columnPath, newSetter func() *setter[P]) column {
	c := &typedColumn[P]{descriptor: d, number: number, definitions: d.MaxDefinitionLevel(), field: f, steps: slices.Clone(w.steps), offset: w.offset}
	if f != nil {
		if c.set = newSetter(); c.set == nil {
			return nil
		}
	}
	return c
}
