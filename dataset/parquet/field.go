package parquet

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/parquet/schema"
)

// shape describes which columns a Go type has.
type shape int

const (
	valueShape shape = iota // one column
	groupShape              // a struct: the columns of its fields
	listShape               // a slice: the columns of its elements
	mapShape                // a map: the columns of its keys and of its values
)

// field describes a part of the Go type of rows, which one or more columns store: a struct
// field, an element of a list, or a key or value of a map.
type field struct {
	tag
	path    string       // such as Row.Address.City, for messages
	typ     reflect.Type // its type or, if pointer is set, the type to which it points
	offset  uintptr      // offset in the outer struct
	pointer bool         // the field is a pointer, which is nil for null
	shape   shape
	// children are the fields of a group, the element of a list, or the key and the value
	// of a map.
	children []*field
	node     schema.Node // schema node of its columns, if the type mirror made the field
}

// tag is the parsed tag of a struct's field.
type tag struct {
	name     string
	optional bool // a file may lack the column
	decimal  *decimalType
}

// decimalType is the number of digits of a decimal: precision in all, scale after the
// point.
type decimalType struct{ precision, scale int32 }

func (d decimalType) String() string { return fmt.Sprintf("decimal(%d,%d)", d.precision, d.scale) }

var (
	timeType     = reflect.TypeFor[time.Time]()
	durationType = reflect.TypeFor[time.Duration]()
	dateType     = reflect.TypeFor[Date]()
	numberType   = reflect.TypeFor[Decimal]()
)

// describeRow describes the struct type of rows. It fails if a field has a type that no
// column can have.
func describeRow(t reflect.Type) (*field, error) {
	if t.Kind() != reflect.Struct || t == timeType || t == numberType {
		return nil, fmt.Errorf("the elements must be structs whose fields are columns, not %v", t)
	}
	row := &field{typ: t, path: t.Name()}
	return row, row.describe(t, nil)
}

// describe sets the fields of f that depend on its type t, and adds its children. above are
// the struct types that contain f. If t is one of them, describe fails, because a type that
// contains itself would have infinitely many columns.
func (f *field) describe(t reflect.Type, above []reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		f.pointer, t = true, t.Elem()
		if k := t.Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map {
			return fmt.Errorf("field %s: a pointer to %v cannot be a column: a pointer stands for a value that may be null, and slices and maps may be nil", f.path, t)
		}
	}
	f.typ = t
	if isValue(t) {
		return f.checkDecimal()
	}
	switch t.Kind() {
	case reflect.Slice:
		f.shape = listShape
		return f.child("element", t.Elem(), above)
	case reflect.Map:
		f.shape = mapShape
		if !isValue(t.Key()) || t.Key().Kind() == reflect.Slice {
			return fmt.Errorf("field %s: keys of type %v cannot be a column", f.path, t.Key())
		}
		decimal := f.decimal
		f.decimal = nil
		if err := f.child("key", t.Key(), above); err != nil {
			return err
		}
		f.decimal = decimal
		return f.child("value", t.Elem(), above)
	case reflect.Struct:
		f.shape = groupShape
		if slices.Contains(above, t) {
			return fmt.Errorf("field %s: the type %v contains itself", f.path, t)
		}
		if err := f.fields(t, 0, append(slices.Clip(above), t)); err != nil {
			return err
		}
		if len(f.children) == 0 {
			return fmt.Errorf("%s: the struct %v has no exported fields, which would be columns", f.path, t)
		}
		return nil
	}
	return fmt.Errorf("field %s: values of type %v cannot be a column", f.path, t)
}

// isValue reports whether a type has only one column, unlike a struct, list or map.
func isValue(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64:
		return true
	case reflect.Slice, reflect.Array:
		return t.Elem().Kind() == reflect.Uint8
	case reflect.Struct:
		return t == timeType || t == numberType
	}
	return isInteger(t)
}

// isInteger reports whether t is an integer type.
func isInteger(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }

// child adds a child to f: the element of a list, or the key or value of a map.
func (f *field) child(name string, t reflect.Type, above []reflect.Type) error {
	c := &field{tag: tag{name: name, decimal: f.decimal}, path: f.path + "." + name}
	f.children = append(f.children, c)
	return c.describe(t, above)
}

// fields adds the exported fields of the struct type t to f.children. t is f's type, or the
// type of a struct embedded in f at offset. above are the struct types that contain these
// fields.
func (f *field) fields(t reflect.Type, offset uintptr, above []reflect.Type) error {
	for i := range t.NumField() {
		s := t.Field(i)
		text, tagged := s.Tag.Lookup("parquet")
		if _, partition := s.Tag.Lookup("partition"); partition || text == "-" {
			continue // dataset.Files sets fields from the names of directories
		}
		if s.Anonymous && !tagged && s.Type.Kind() == reflect.Struct && !isValue(s.Type) {
			if err := f.fields(s.Type, offset+s.Offset, above); err != nil {
				return err
			}
			continue
		}
		if !s.IsExported() {
			continue
		}
		c := &field{path: f.path + "." + s.Name, offset: offset + s.Offset}
		var err error
		if c.tag, err = parseTag(text); err != nil {
			return fmt.Errorf("field %s: %w", c.path, err)
		}
		if c.name == "" {
			c.name = s.Name
		}
		if slices.ContainsFunc(f.children, func(other *field) bool { return other.name == c.name }) {
			return fmt.Errorf("field %s: another field has the column %q", c.path, c.name)
		}
		f.children = append(f.children, c)
		if err := c.describe(s.Type, above); err != nil {
			return err
		}
	}
	return nil
}

// parseTag parses a tag such as `price,decimal(15,2)`.
func parseTag(text string) (tag, error) {
	name, rest, _ := strings.Cut(text, ",")
	t := tag{name: name}
	for rest != "" {
		var option string
		if end := strings.IndexByte(rest, ')'); strings.HasPrefix(rest, "decimal(") && end > 0 {
			option, rest = rest[:end+1], strings.TrimPrefix(rest[end+1:], ",")
		} else {
			option, rest, _ = strings.Cut(rest, ",")
		}
		switch {
		case option == "optional":
			t.optional = true
		case strings.HasPrefix(option, "decimal("):
			d, err := parseDecimalType(option)
			if err != nil {
				return t, err
			}
			t.decimal = &d
		default:
			return t, fmt.Errorf("the tag has the unknown option %q: there are optional and decimal(digits,scale)", option)
		}
	}
	return t, nil
}

func parseDecimalType(option string) (decimalType, error) {
	digits, scale, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(option, "decimal("), ")"), ",")
	p, err1 := strconv.ParseInt(strings.TrimSpace(digits), 10, 32)
	s, err2 := strconv.ParseInt(strings.TrimSpace(scale), 10, 32)
	if err := errors.Join(err1, err2); err != nil || p < 1 || p > maxPrecision || s < 0 || s > p {
		return decimalType{}, fmt.Errorf("the tag has the option %q: write decimal(digits,scale) with 1 to %d digits, of which scale are after the point", option, maxPrecision)
	}
	return decimalType{int32(p), int32(s)}, nil
}

// checkDecimal returns an error if f's type cannot have the tag option decimal.
func (f *field) checkDecimal() error {
	if f.decimal == nil || f.typ == numberType {
		return nil
	}
	if !isInteger(f.typ) || f.typ == dateType || f.typ == durationType {
		return fmt.Errorf("field %s: the option %v is for integers and Decimal, not for %v", f.path, f.decimal, f.typ)
	}
	// By number of bits: the largest precision p for which 10^p < 2^(bits-1).
	most := map[int]int32{8: 2, 16: 4, 32: 9, 64: 18}[f.typ.Bits()]
	if f.decimal.precision > most {
		return fmt.Errorf("field %s: %v has more digits than %v holds, which is %d", f.path, f.decimal, f.typ, most)
	}
	return nil
}

// String returns the field's path and type, for messages.
func (f *field) String() string {
	t := f.typ.String()
	if f.pointer {
		t = "*" + t
	}
	if f.decimal != nil && f.shape == valueShape {
		t += " with " + f.decimal.String()
	}
	return fmt.Sprintf("field %s of type %s", f.path, t)
}
