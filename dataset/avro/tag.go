package avro

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	twmb "github.com/twmb/avro"
)

// fieldTag is the parsed tag of a field. The tag has the syntax of package twmb/avro, which
// decodes records and reads the tag too.
type fieldTag struct {
	name         string
	skipped      bool // the field is in no file
	inline       bool // the fields of the struct belong to the outer record
	aliases      []string
	logical      logicalType
	hasDefault   bool
	defaultValue string
}

// parseTag returns the tag of a field.
func parseTag(field reflect.StructField) (fieldTag, error) {
	text, tagged := field.Tag.Lookup("avro")
	name, rest, _ := strings.Cut(text, ",")
	_, partition := field.Tag.Lookup("partition") // dataset.Files sets such fields from the names of directories
	tag := fieldTag{name: name, skipped: text == "-" || partition, inline: field.Anonymous && name == "" && isStruct(field.Type)}
	if name == "" {
		tag.name = field.Name
	}
	for tagged && rest != "" && !tag.skipped {
		var option string
		option, rest = cutOption(rest)
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "inline":
			tag.inline = true
		case "omitzero":
		case "alias":
			tag.aliases = append(tag.aliases, strings.Split(strings.Trim(value, "[]"), ",")...)
		case "default":
			tag.hasDefault, tag.defaultValue = true, value
		default:
			logical, err := parseLogicalType(option)
			if err != nil {
				return tag, err
			}
			tag.logical = logical
		}
	}
	if tag.inline && !isStruct(field.Type) {
		return tag, fmt.Errorf("the option inline needs a struct, not %v", field.Type)
	}
	return tag, nil
}

func isStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// cutOption returns the first option of a tag and the remaining options. An option "default=…"
// extends to the end of the tag, because its value may contain commas.
func cutOption(options string) (option, rest string) {
	if strings.HasPrefix(options, "default=") {
		return options, ""
	}
	depth := 0
	for i, c := range options {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				return options[:i], options[i+1:]
			}
		}
	}
	return options, ""
}

// logicalType is a logical type of Avro. The zero value means no logical type.
type logicalType struct {
	name             string
	precision, scale int
}

// logicalTypes maps the names of logical types, except decimal, to the Avro types of their
// values.
var logicalTypes = map[string]string{
	"date": "int", "time-millis": "int", "time-micros": "long", "uuid": "string",
	"timestamp-millis": "long", "timestamp-micros": "long", "timestamp-nanos": "long",
	"local-timestamp-millis": "long", "local-timestamp-micros": "long", "local-timestamp-nanos": "long",
}

// parseLogicalType returns the logical type that an option of a tag names.
func parseLogicalType(option string) (logicalType, error) {
	if logicalTypes[option] != "" {
		return logicalType{name: option}, nil
	}
	arguments, isDecimal := strings.CutPrefix(option, "decimal(")
	if !isDecimal {
		return logicalType{}, fmt.Errorf("the tag has the unknown option %q", option)
	}
	precision, scale, _ := strings.Cut(strings.TrimSuffix(arguments, ")"), ",")
	l := logicalType{name: "decimal"}
	var precisionErr, scaleErr error
	l.precision, precisionErr = strconv.Atoi(strings.TrimSpace(precision))
	l.scale, scaleErr = strconv.Atoi(strings.TrimSpace(scale))
	if precisionErr != nil || scaleErr != nil || l.precision < 1 || l.scale < 0 || l.scale > l.precision {
		return l, fmt.Errorf("the tag has %q: write decimal(10,2) for ten digits, two of them behind the point", option)
	}
	return l, nil
}

// node returns the schema of t, a time, duration or decimal, with the logical type l.
func (l logicalType) node(t reflect.Type) (*twmb.SchemaNode, error) {
	switch {
	case t == ratType:
		if l.name != "decimal" {
			return nil, fmt.Errorf("a %v needs the number of its digits: add the option decimal(10,2), for ten digits, two of them behind the point", t)
		}
		return &twmb.SchemaNode{Type: "bytes", LogicalType: l.name, Precision: l.precision, Scale: l.scale}, nil
	case t == timeType && l.name == "":
		l.name = "timestamp-micros"
	case t == durationType && l.name == "":
		l.name = "time-micros"
	case t == timeType && l.name != "date" && !strings.Contains(l.name, "timestamp-"),
		t == durationType && !strings.HasPrefix(l.name, "time-"):
		return nil, l.mismatch(t)
	}
	return &twmb.SchemaNode{Type: logicalTypes[l.name], LogicalType: l.name}, nil
}

// mismatch returns the error of a field whose type t does not allow the option l in its tag.
func (l logicalType) mismatch(t reflect.Type) error {
	return fmt.Errorf("a %v cannot have the option %s", t, l.name)
}
