package javaserial

// Object is a Java object, with the fields of its class and of all superclasses.
type Object struct {
	Class string // the full name, such as "java.util.ArrayList"
	// Fields are the values by field name. The types of values are nil, bool, int8, int16,
	// int32, int64, uint16 (char), float32, float64, string, *Object, *Enum, *Array and *Class.
	Fields map[string]any
	// Data is the data that writeObject methods wrote: a []byte for each block of primitive
	// values, and objects as in Fields.
	Data []any
}

// Enum is an enum constant: the enum's class and the constant's name.
type Enum struct{ Class, Name string }

// Array is a Java array.
type Array struct {
	Class  string // such as "[I" for int[]
	Values []any
}

// Class is a value of type java.lang.Class.
type Class struct{ Name string }
