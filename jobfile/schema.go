package jobfile

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// Schema returns the JSON Schema (draft 2020-12) of job files. Read checks more than the
// schema can express.
func Schema() ([]byte, error) {
	root := schemaOf(reflect.TypeFor[File]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Job file of yarn-submit run"
	root["patternProperties"] = schema{"^x-": true}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(root)
	return encoded.Bytes(), err
}

// schemaOf returns the schema of a struct type.
func schemaOf(t reflect.Type) schema {
	properties := schema{}
	var required []string
	for _, f := range fieldsOf(t) {
		one := schemaOfValue(t.Field(f.index).Type)
		one["description"] = f.doc
		if f.least > 0 {
			one["minimum"] = f.least
		}
		properties[f.name] = one
		if f.required {
			required = append(required, f.name)
		}
	}
	described := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		described["required"] = required
	}
	return described
}

func schemaOfValue(t reflect.Type) schema {
	if own, ok := reflect.New(t).Interface().(decodable); ok {
		return own.schema()
	}
	if t.Kind() == reflect.Slice {
		return schema{"type": "array", "items": schemaOfValue(t.Elem())}
	}
	return schemaOf(t)
}
