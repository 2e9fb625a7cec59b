package avro

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	twmb "github.com/twmb/avro"
)

// resolve returns the schema with which a file's records are decoded into the Go type of
// wanted. The argument file is the schema in the file. resolve fails if the file lacks a
// required field, or if a field of the file has a type that cannot be read as the wanted
// type.
func resolve(file *twmb.Schema, wanted *typeSchema) (*twmb.Schema, error) {
	root := file.Root().ExpandReferences()
	m := merger{file: definitions(root), wanted: definitions(wanted.root), goTypes: wanted.fields, names: map[[2]string]string{}}
	merged, err := m.merge(root, wanted.root, position{goType: wanted.goType})
	if err != nil {
		return nil, err
	}
	written, err := merged.written.Schema(laxNames)
	if err != nil {
		return nil, err
	}
	read, err := merged.read.Schema(laxNames)
	if err != nil {
		return nil, err
	}
	return twmb.Resolve(written, read)
}

// laxNames makes schemas of files accept names that Avro's specification does not allow,
// because some writers do not check names.
var laxNames = twmb.WithLaxNames(nil)

// merger builds the two schemas with which a file is read: the writer's schema and the
// reader's schema. The reader's schema has the fields of the wanted schema. A field can
// have a type in the file that Avro does not promote to the wanted type, although the
// decoder can decode its values into the wanted Go type. For such fields, the reader's
// schema has the file's type. These fields are enums, read as strings, and decimals and
// timestamps of any precision.
type merger struct {
	file, wanted map[string]*twmb.SchemaNode // named types by full name
	goTypes      map[[2]string]reflect.Type  // of wanted fields, by names of the record and the field
	names        map[[2]string]string        // of merged records, by names of the file's record and the wanted record
	nulls        int                         // number of types that nullPlaceholder has returned
}

// merged is a type in the writer's schema, and the type in the reader's schema as which its
// values are read.
type merged struct{ written, read twmb.SchemaNode }

// unchanged returns a merged for a type that is the same in both schemas.
func unchanged(n *twmb.SchemaNode) merged { return merged{*n, *n} }

// position is the place of a type in the schema of a file.
type position struct {
	path      string       // names of the fields that lead to it, separated by dots
	namespace string       // of the record that has the type
	goType    reflect.Type // type into which it is read
}

// element returns the position of a list's or map's elements, or of a pointer's target.
func (p position) element() position {
	p.goType = p.goType.Elem()
	return p
}

// definitions returns the named types within a schema by full name.
func definitions(n *twmb.SchemaNode) map[string]*twmb.SchemaNode {
	found := map[string]*twmb.SchemaNode{}
	var walk func(n *twmb.SchemaNode)
	walk = func(n *twmb.SchemaNode) {
		if n == nil {
			return
		}
		if n.Name != "" {
			found[fullName(n)] = n
		}
		for i := range n.Fields {
			walk(&n.Fields[i].Type)
		}
		for i := range n.Branches {
			walk(&n.Branches[i])
		}
		walk(n.Items)
		walk(n.Values)
	}
	walk(n)
	return found
}

// fullName returns the full name of a named type.
func fullName(n *twmb.SchemaNode) string {
	if n.Namespace == "" || strings.Contains(n.Name, ".") {
		return n.Name
	}
	return n.Namespace + "." + n.Name
}

// definition returns the named type to which n refers within namespace. It returns n if n
// does not refer to a named type.
func definition(types map[string]*twmb.SchemaNode, n *twmb.SchemaNode, namespace string) *twmb.SchemaNode {
	if found := types[namespace+"."+n.Type]; found != nil {
		return found
	}
	if found := types[n.Type]; found != nil {
		return found
	}
	return n
}

// merge returns how a type of the file is read as a wanted type. It fails if the file's
// type cannot be read as the wanted type.
func (m *merger) merge(file, wanted *twmb.SchemaNode, at position) (merged, error) {
	file, wanted = definition(m.file, file, at.namespace), definition(m.wanted, wanted, "")
	for at.goType.Kind() == reflect.Pointer && at.goType.Elem().Kind() == reflect.Pointer {
		at = at.element()
	}
	switch {
	case file.Type == "union":
		return m.mergeUnion(file, wanted, at)
	case wanted.Type == "union": // a pointer in Go, whose target is decoded from file
		return m.merge(file, notNull(wanted), at.element())
	case file.Type == "record" && wanted.Type == "record":
		return m.mergeRecords(file, wanted, at)
	case file.Type == "array" && wanted.Type == "array":
		items, err := m.merge(file.Items, wanted.Items, at.element())
		return merged{twmb.SchemaNode{Type: "array", Items: &items.written}, twmb.SchemaNode{Type: "array", Items: &items.read}}, err
	case file.Type == "map" && wanted.Type == "map":
		values, err := m.merge(file.Values, wanted.Values, at.element())
		return merged{twmb.SchemaNode{Type: "map", Values: &values.written}, twmb.SchemaNode{Type: "map", Values: &values.read}}, err
	case file.LogicalType == "" && promotes(file.Type, wanted.Type):
		return merged{*file, *wanted}, nil
	case decodes(file, wanted):
		return unchanged(file), nil
	}
	path := ""
	if at.path != "" {
		path = fmt.Sprintf("field %q: ", at.path)
	}
	return merged{}, fmt.Errorf("%sthe file has the type %s, which cannot be read as %s: change the type of the field", path, describe(file), describe(wanted))
}

// notNull returns the first type in a union other than null.
func notNull(union *twmb.SchemaNode) *twmb.SchemaNode {
	return &union.Branches[slices.IndexFunc(union.Branches, func(n twmb.SchemaNode) bool { return n.Type != "null" })]
}

// describe returns the name of a type for error messages.
func describe(n *twmb.SchemaNode) string {
	if n.LogicalType != "" {
		return fmt.Sprintf("%s (%s)", n.LogicalType, n.Type)
	}
	return n.Type
}

// promotes reports whether Avro's rules allow reading values of the file's type as values of
// the wanted type. It returns false if the file's type is neither a number type nor boolean.
func promotes(file, wanted string) bool {
	switch file {
	case "boolean", "double":
		return wanted == file
	case "int":
		return slices.Contains([]string{"int", "long", "float", "double"}, wanted)
	case "long":
		return slices.Contains([]string{"long", "float", "double"}, wanted)
	case "float":
		return slices.Contains([]string{"float", "double"}, wanted)
	}
	return false
}

// decodes reports whether the decoder can decode values of the file's type into the Go type
// of wanted, if the reader's schema has the file's type.
func decodes(file, wanted *twmb.SchemaNode) bool {
	isText := slices.Contains([]string{"string", "bytes", "fixed"}, wanted.Type) && wanted.LogicalType != "decimal"
	isTime := strings.Contains(wanted.LogicalType, "time") || wanted.LogicalType == "date"
	switch file.Type {
	case "enum":
		return isText || wanted.LogicalType == "" && (wanted.Type == "int" || wanted.Type == "long")
	case "string", "bytes", "fixed":
		if file.LogicalType == "decimal" || file.LogicalType == "big-decimal" {
			return isText || wanted.LogicalType == "decimal" || wanted.Type == "double" || wanted.Type == "float"
		}
		return isText
	case "int", "long": // with a logical type
		return isTime || wanted.LogicalType == "" && promotes(file.Type, wanted.Type)
	}
	return false
}

// mergeUnion returns how the file's union is read as the wanted type. It fails if no type
// of the union can be read as the wanted type. If only some types can, values of the other
// types cause an error when they are decoded.
func (m *merger) mergeUnion(file, wanted *twmb.SchemaNode, at position) (merged, error) {
	null := twmb.SchemaNode{Type: "null"}
	switch kind := at.goType.Kind(); kind {
	case reflect.Pointer, reflect.Slice, reflect.Map:
	default:
		m.nulls++
		null = nullPlaceholder(kind, m.nulls)
	}
	if wanted.Type == "union" {
		wanted, at = notNull(wanted), at.element()
	}
	var failed error
	readable := false
	union := unchanged(&twmb.SchemaNode{Type: "union"})
	for i := range file.Branches {
		branch := unchanged(&null)
		if file.Branches[i].Type != "null" {
			var err error
			if branch, err = m.merge(&file.Branches[i], wanted, at); err != nil {
				branch, failed = unchanged(&file.Branches[i]), err
			} else {
				readable = true
			}
		}
		union.written.Branches = append(union.written.Branches, branch.written)
		union.read.Branches = append(union.read.Branches, branch.read)
	}
	if readable {
		failed = nil
	}
	return union, failed
}

// nullPlaceholder returns a type that replaces null in a union that is read into a Go type
// of the given kind. It is used for kinds that cannot be nil: the decoder would decode null
// into their zero value, instead of failing. Like null, a value of the returned type has no
// bytes, but decoding it into a Go type of the given kind fails. number makes the type's
// name unique.
func nullPlaceholder(kind reflect.Kind, number int) twmb.SchemaNode {
	name := fmt.Sprintf("null_%d", number)
	if kind == reflect.Struct {
		return twmb.SchemaNode{Type: "fixed", Name: name}
	}
	return twmb.SchemaNode{Type: "record", Name: name, Fields: []twmb.SchemaField{}}
}

// explainNull replaces err by an error that mentions null, if err is about a value of a
// type that nullPlaceholder returned. Otherwise it returns err.
func explainNull(err error) error {
	var wrong *twmb.SemanticError
	if !errors.As(err, &wrong) || wrong.GoType == nil {
		return err
	}
	if isStruct := wrong.GoType.Kind() == reflect.Struct; wrong.AvroType == "fixed" && isStruct || wrong.AvroType == "record" && !isStruct {
		return fmt.Errorf("field %q: null, or another type of the file's union, cannot be read as %v: make the field a pointer if it may be null", wrong.Field, wrong.GoType)
	}
	return err
}

// mergeRecords returns how a record of the file is read as a record with the fields of
// wanted. Fields that the file lacks are set to their defaults.
func (m *merger) mergeRecords(file, wanted *twmb.SchemaNode, at position) (merged, error) {
	pair := [2]string{fullName(file), wanted.Name}
	if name := m.names[pair]; name != "" {
		return unchanged(&twmb.SchemaNode{Type: name}), nil
	}
	// A record of the file may be read into several Go types. The schemas need a different
	// name for each of them.
	name := fmt.Sprintf("read_%d", len(m.names)+1)
	m.names[pair] = name
	record := unchanged(&twmb.SchemaNode{Type: "record", Name: name})
	record.written.Fields = slices.Clone(file.Fields)
	for _, field := range wanted.Fields {
		found := slices.IndexFunc(file.Fields, func(f twmb.SchemaField) bool { return f.Name == field.Name })
		if found < 0 {
			found = slices.IndexFunc(file.Fields, func(f twmb.SchemaField) bool { return slices.Contains(field.Aliases, f.Name) })
		}
		inside := position{
			path: strings.TrimPrefix(at.path+"."+field.Name, "."), namespace: file.Namespace,
			goType: m.goTypes[[2]string{wanted.Name, field.Name}],
		}
		switch {
		case found >= 0:
			types, err := m.merge(&file.Fields[found].Type, &field.Type, inside)
			if err != nil {
				return record, err
			}
			record.written.Fields[found] = twmb.SchemaField{Name: field.Name, Type: types.written}
			field = twmb.SchemaField{Name: field.Name, Type: types.read}
		case !field.HasDefault:
			return record, fmt.Errorf("the file has no field %q: make the field of the struct a pointer, or give it a default, such as `avro:\"%s,default=0\"`", inside.path, field.Name)
		case field.Default == nil:
			field.Type = twmb.SchemaNode{Type: "null"} // the field's type may refer to types that the schema does not define
		}
		record.read.Fields = append(record.read.Fields, field)
	}
	return record, nil
}
