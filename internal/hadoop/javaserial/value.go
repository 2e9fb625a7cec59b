package javaserial

// Object is an object with the fields of its class and its superclasses.
type Object struct {
	Class string // with its package: "java.util.ArrayList"
	// Fields by name: nil, bool, int8, int16, int32, int64, uint16 (char), float32,
	// float64, string, *Object, *Enum, *Array, or *Class.
	Fields map[string]any
	// Data is what the class's own writeObject wrote after the fields: []byte for each
	// block of primitive values, and objects as in Fields.
	Data []any
}

// Enum is a constant of an enumeration.
type Enum struct{ Class, Name string }

// Array is an array of any type.
type Array struct {
	Class  string // "[I"
	Values []any
}

// Class is a class as a value.
type Class struct{ Name string }
