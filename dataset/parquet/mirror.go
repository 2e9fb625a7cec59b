package parquet

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// mirror makes Go types for the columns of a file. Each method returns a type together with
// a field that describes it. The type in the description, field.typ, may differ from the
// returned type but has the same memory layout. For example, the returned type may have
// another form in JSON.
type mirror struct {
	// value returns two types for a column's values, with the same memory layout: declared
	// for the description, and shown for the Go type that the mirror makes.
	value func(node *schema.PrimitiveNode) (declared, shown reflect.Type)
	// If maps is true, a map whose keys can be keys of a JSON object becomes a Go map. All
	// other maps become slices of entries.
	maps bool
}

// group returns the description of a struct type, and the type. The struct has a field for
// each of the named columns of a group, in the order of columns, or for all columns if
// columns is empty. A name such as "address.city" selects a column in a group within the
// group.
func (m mirror) group(group *schema.GroupNode, columns []string) (*field, reflect.Type, error) {
	chosen, err := choose(group, columns)
	if err != nil {
		return nil, nil, err
	}
	f := &field{shape: groupShape, path: group.Name(), node: group}
	var fields []reflect.StructField
	for i, c := range chosen {
		child, t, err := m.field(c.node, c.within)
		if err != nil {
			return nil, nil, err
		}
		f.children = append(f.children, child)
		fields = append(fields, reflect.StructField{
			Name: "F" + strconv.Itoa(i), Type: t,
			Tag: reflect.StructTag("json:" + strconv.Quote(jsonName(child.name))),
		})
	}
	f.typ = reflect.StructOf(fields)
	for i, child := range f.children {
		child.offset = f.typ.Field(i).Offset
	}
	return f, f.typ, nil
}

// choice is a field, of a group, that is read as a whole or in part.
type choice struct {
	node   schema.Node
	all    bool     // all columns of node are read
	within []string // names of the columns of node that are read, if all is false
}

// choose returns the fields of a group that contain the named columns, or all fields if
// there are no names.
func choose(group *schema.GroupNode, columns []string) ([]choice, error) {
	var chosen []choice
	if len(columns) == 0 {
		for i := range group.NumFields() {
			chosen = append(chosen, choice{node: group.Field(i), all: true})
		}
		return chosen, nil
	}
	byIndex := map[int]int{} // positions in chosen, by the index of the field in group
	for _, column := range columns {
		i, within := findField(group, column), ""
		if i < 0 {
			var name string
			name, within, _ = strings.Cut(column, ".")
			i = findField(group, name)
		}
		if i < 0 {
			if group.Parent() != nil {
				column = group.Path() + "." + column
			}
			return nil, fmt.Errorf("there is no column %q: %s", column, describeFields(group))
		}
		at, ok := byIndex[i]
		if !ok {
			at = len(chosen)
			byIndex[i] = at
			chosen = append(chosen, choice{node: group.Field(i)})
		}
		c := &chosen[at]
		if c.all = c.all || within == ""; c.all {
			c.within = nil
		} else {
			c.within = append(c.within, within)
		}
	}
	return chosen, nil
}

// field returns the description of a field that can represent the values of a node, and its
// type. columns are the names of the columns in the node that are read; if there are none,
// all columns are read.
func (m mirror) field(node schema.Node, columns []string) (*field, reflect.Type, error) {
	if node.RepetitionType() == parquet.Repetitions.Repeated {
		return m.list(node, node, columns)
	}
	f, t, err := m.inner(node, columns)
	if err != nil {
		return nil, nil, err
	}
	f.name = node.Name()
	if node.RepetitionType() == parquet.Repetitions.Optional && f.shape != listShape && f.shape != mapShape && f.typ.Kind() != reflect.Slice {
		f.pointer, t = true, reflect.PointerTo(t)
	}
	return f, t, nil
}

// inner is like field, but treats the node as if it were neither repeated nor optional.
func (m mirror) inner(node schema.Node, columns []string) (*field, reflect.Type, error) {
	group, ok := node.(*schema.GroupNode)
	if !ok {
		if len(columns) > 0 {
			return nil, nil, fmt.Errorf("there is no column %q: the column %q is not a group", node.Path()+"."+columns[0], node.Path())
		}
		declared, shown := m.value(node.(*schema.PrimitiveNode))
		return &field{typ: declared, path: node.Path(), node: node}, shown, nil
	}
	if group.NumFields() == 0 {
		return nil, nil, fmt.Errorf("the column %q is a group without columns", node.Path())
	}
	repeated := group.Field(0)
	if group.NumFields() != 1 || repeated.RepetitionType() != parquet.Repetitions.Repeated {
		return m.group(group, columns)
	}
	if entry, ok := repeated.(*schema.GroupNode); ok && m.maps && entry.NumFields() == 2 && isMap(group) {
		key, keyType, err := m.field(entry.Field(0), nil)
		if err != nil {
			return nil, nil, err
		}
		value, valueType, err := m.field(entry.Field(1), nil)
		if err != nil {
			return nil, nil, err
		}
		if isJSONKey(key) {
			t := reflect.MapOf(keyType, valueType)
			return &field{shape: mapShape, typ: t, path: node.Path(), node: node, children: []*field{key, value}}, t, nil
		}
	}
	return m.list(node, repeated, columns)
}

// isMap reports whether a group with a repeated field is a map.
func isMap(group *schema.GroupNode) bool {
	_, ok := group.LogicalType().(schema.MapLogicalType)
	return ok || group.ConvertedType() == schema.ConvertedTypes.MapKeyValue
}

// list returns the description and the type of a slice for the values of a repeated node. The
// parameter list is the node of the whole list or, if the file has no separate node for the
// list, the repeated node again.
func (m mirror) list(list, repeated schema.Node, columns []string) (*field, reflect.Type, error) {
	if len(columns) > 0 {
		return nil, nil, fmt.Errorf("the column %q is in the list or map %q: select that as a whole", list.Path()+"."+columns[0], list.Path())
	}
	var element *field
	var t reflect.Type
	var err error
	if group, ok := repeated.(*schema.GroupNode); !ok {
		element, t, err = m.inner(repeated, nil)
	} else if isElementWrapper(group) {
		element, t, err = m.field(group.Field(0), nil)
	} else {
		element, t, err = m.group(group, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	element.name = "element"
	t = reflect.SliceOf(t)
	return &field{tag: tag{name: list.Name()}, shape: listShape, typ: t, path: list.Path(), node: list, children: []*field{element}}, t, nil
}
