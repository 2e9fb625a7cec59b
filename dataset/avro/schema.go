package avro

import (
	"encoding"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	twmb "github.com/twmb/avro"
)

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	ratType      = reflect.TypeFor[big.Rat]()
	marshaler    = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshaler  = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// typeSchema is the Avro schema of files that Save writes for a Go type.
type typeSchema struct {
	goType reflect.Type
	root   *twmb.SchemaNode
	names  map[reflect.Type]string    // Avro's names of records and fixed types
	types  map[string]reflect.Type    // Go types of records and fixed types, by their names
	fields map[[2]string]reflect.Type // Go types of fields, by names of the record and the field
}

// schemaOf returns the schema of t, which must be a struct.
func schemaOf(t reflect.Type) (*typeSchema, error) {
	if t.Kind() != reflect.Struct || t == timeType || t == ratType {
		return nil, fmt.Errorf("elements of type %v are not records of Avro: map them to a struct first", t)
	}
	s := &typeSchema{goType: t, names: map[reflect.Type]string{}, types: map[string]reflect.Type{}, fields: map[[2]string]reflect.Type{}}
	var err error
	if s.root, err = s.record(t); err != nil {
		return nil, fmt.Errorf("type %v: %w", t, err)
	}
	return s, nil
}

// invalidNameChars matches characters that names in Avro cannot have.
var invalidNameChars = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// avroTypeNames are the names of Avro's own types. Records and fixed types must have other
// names.
var avroTypeNames = []string{
	"null", "boolean", "int", "long", "float", "double", "bytes", "string", "record", "error", "enum", "array", "map", "union", "fixed",
}

// name returns the name in Avro of t, which is a record or a fixed type. The name is
// derived from that of t in Go; if t has none there, anonymous is used instead. In the first
// call for t, defined is false, and the caller must define the type.
func (s *typeSchema) name(t reflect.Type, anonymous string) (name string, defined bool) {
	if name, defined = s.names[t]; defined {
		return name, true
	}
	// The name of an instance of a generic type contains paths of packages.
	if name = strings.Trim(invalidNameChars.ReplaceAllString(t.Name(), "_"), "_"); name == "" {
		name = anonymous
	}
	base := name
	for n := 2; s.types[name] != nil || slices.Contains(avroTypeNames, name); n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	s.names[t], s.types[name] = name, t
	return name, false
}

// record returns the schema of a struct.
func (s *typeSchema) record(t reflect.Type) (*twmb.SchemaNode, error) {
	name, defined := s.name(t, "struct")
	if defined {
		return &twmb.SchemaNode{Type: name}, nil
	}
	node := &twmb.SchemaNode{Type: "record", Name: name}
	if err := s.addFields(node, t); err != nil {
		return nil, err
	}
	if len(node.Fields) == 0 {
		return nil, errors.New("it has no exported fields")
	}
	return node, nil
}

// addFields adds the fields of a struct to a record.
func (s *typeSchema) addFields(record *twmb.SchemaNode, t reflect.Type) error {
	for i := range t.NumField() {
		field := t.Field(i)
		tag, err := parseTag(field)
		if err != nil {
			return fmt.Errorf("field %s: %w", field.Name, err)
		}
		switch {
		case tag.skipped:
			continue
		case tag.inline:
			embedded := field.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			err = s.addFields(record, embedded)
		case !field.IsExported():
			continue
		default:
			var added twmb.SchemaField
			if added, err = s.field(field.Type, tag); err == nil {
				for _, other := range record.Fields {
					if other.Name == added.Name {
						err = fmt.Errorf("two fields have the name %q: rename one by a tag, such as `avro:\"other\"`", added.Name)
					}
				}
			}
			record.Fields = append(record.Fields, added)
			s.fields[[2]string{record.Name, added.Name}] = field.Type
		}
		if err != nil {
			return fmt.Errorf("field %s: %w", field.Name, err)
		}
	}
	return nil
}

// field returns the schema of a field.
func (s *typeSchema) field(t reflect.Type, tag fieldTag) (twmb.SchemaField, error) {
	field := twmb.SchemaField{Name: tag.name, Aliases: tag.aliases}
	node, err := s.of(t, tag.logical)
	if err != nil {
		return field, err
	}
	if tag.hasDefault {
		field.HasDefault = true
		value := node
		if node.Type == "union" && tag.defaultValue != "null" {
			// The default of a union must be of its first type.
			node.Branches[0], node.Branches[1] = node.Branches[1], node.Branches[0]
			value = &node.Branches[0]
		}
		if field.Default, err = defaultValue(value.Type, tag.defaultValue); err != nil {
			return field, err
		}
	} else if node.Type == "union" {
		field.HasDefault = true // null
	}
	field.Type = *node
	return field, nil
}

// defaultValue returns text, the default in a tag, as a value of the Avro type that kind
// names.
func defaultValue(kind, text string) (any, error) {
	var value any
	var err error
	switch kind {
	case "union":
		return nil, nil
	case "boolean":
		value, err = strconv.ParseBool(text)
	case "int":
		value, err = strconv.ParseInt(text, 10, 32)
	case "long":
		value, err = strconv.ParseInt(text, 10, 64)
	case "float", "double":
		value, err = strconv.ParseFloat(text, 64)
	case "string":
		value = text
	default:
		return nil, fmt.Errorf("a field of the type %s cannot have the default %q: make it a pointer, which is nil by default", kind, text)
	}
	if err != nil {
		return nil, fmt.Errorf("the default %q is none of the type %s", text, kind)
	}
	return value, nil
}

// typeOfKind has the Avro type for each kind of Go types.
var typeOfKind = map[reflect.Kind]string{
	reflect.Bool: "boolean", reflect.String: "string", reflect.Float32: "float", reflect.Float64: "double",
	reflect.Int8: "int", reflect.Int16: "int", reflect.Int32: "int", reflect.Uint8: "int", reflect.Uint16: "int",
	reflect.Int: "long", reflect.Int64: "long", reflect.Uint: "long", reflect.Uint32: "long", reflect.Uint64: "long",
}

// of returns the schema of t with the logical type l. If l is the zero value, times and
// durations have a default logical type.
func (s *typeSchema) of(t reflect.Type, l logicalType) (*twmb.SchemaNode, error) {
	switch {
	case t == timeType || t == durationType || t == ratType:
		return l.node(t)
	case t.Kind() == reflect.Pointer:
		node, err := s.of(t.Elem(), l)
		if err != nil || node.Type == "union" {
			return node, err
		}
		return &twmb.SchemaNode{Type: "union", Branches: []twmb.SchemaNode{{Type: "null"}, *node}}, nil
	case l.name == "uuid" && t.Kind() == reflect.Array && t.Elem().Kind() == reflect.Uint8 && t.Len() == 16:
		node, err := s.fixed(t)
		if node != nil && node.Type == "fixed" {
			node.LogicalType = l.name
		}
		return node, err
	case t.Implements(marshaler) && reflect.PointerTo(t).Implements(unmarshaler), t.Kind() == reflect.String:
		if l.name == "decimal" && t.Kind() == reflect.String {
			return l.node(ratType)
		}
		if l.name != "" && l.name != "uuid" {
			return nil, l.mismatch(t)
		}
		return &twmb.SchemaNode{Type: "string", LogicalType: l.name}, nil
	case l.name == "date" && typeOfKind[t.Kind()] == "int":
		return &twmb.SchemaNode{Type: "int", LogicalType: "date"}, nil
	case l.name != "":
		return nil, l.mismatch(t)
	}
	return s.withoutLogicalType(t)
}

// withoutLogicalType returns the schema of t without a logical type.
func (s *typeSchema) withoutLogicalType(t reflect.Type) (*twmb.SchemaNode, error) {
	if kind := typeOfKind[t.Kind()]; kind != "" {
		return &twmb.SchemaNode{Type: kind}, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return s.record(t)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("the keys of %v are not strings", t)
		}
		values, err := s.of(t.Elem(), logicalType{})
		return &twmb.SchemaNode{Type: "map", Values: values}, err
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			if t.Kind() == reflect.Array {
				return s.fixed(t)
			}
			return &twmb.SchemaNode{Type: "bytes"}, nil
		}
		items, err := s.of(t.Elem(), logicalType{})
		return &twmb.SchemaNode{Type: "array", Items: items}, err
	}
	return nil, fmt.Errorf("%v has no type in Avro: change it, or leave the field out with the tag `avro:\"-\"`", t)
}

// fixed returns the schema of an array of bytes.
func (s *typeSchema) fixed(t reflect.Type) (*twmb.SchemaNode, error) {
	name, defined := s.name(t, fmt.Sprintf("fixed_%d", t.Len()))
	if defined {
		return &twmb.SchemaNode{Type: name}, nil
	}
	return &twmb.SchemaNode{Type: "fixed", Name: name, Size: t.Len()}, nil
}
