package parquet

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// setter stores values of the physical type P in a field.
type setter[P any] struct {
	// setOne stores a value at an address.
	setOne func(at unsafe.Pointer, value P)
	// setAll stores values at addresses that are stride bytes apart, from at on. It stores
	// values[i] only if selected is nil or selected[i] is true.
	setAll func(at unsafe.Pointer, stride uintptr, values []P, selected []bool)
}

// copySetter returns a setter that copies values to a field whose type has the memory
// layout of P.
func copySetter[P any]() *setter[P] {
	return &setter[P]{
		setOne: func(at unsafe.Pointer, value P) { *(*P)(at) = value },
		setAll: func(at unsafe.Pointer, stride uintptr, values []P, selected []bool) {
			for i, value := range values {
				if selected == nil || selected[i] {
					*(*P)(unsafe.Add(at, uintptr(i)*stride)) = value
				}
			}
		},
	}
}

// convertingSetter returns a setter that stores convert(value) in a field whose type has
// the memory layout of G.
func convertingSetter[P, G any](convert func(P) G) *setter[P] {
	return &setter[P]{
		setOne: func(at unsafe.Pointer, value P) { *(*G)(at) = convert(value) },
		setAll: func(at unsafe.Pointer, stride uintptr, values []P, selected []bool) {
			for i, value := range values {
				if selected == nil || selected[i] {
					*(*G)(unsafe.Add(at, uintptr(i)*stride)) = convert(value)
				}
			}
		},
	}
}

// integerSetter returns a setter that stores integers in a field of the integer type t.
func integerSetter[P int32 | int64](t reflect.Type) *setter[P] {
	switch t.Size() {
	case 1:
		return convertingSetter(func(v P) int8 { return int8(v) })
	case 2:
		return convertingSetter(func(v P) int16 { return int16(v) })
	case 4:
		if s, ok := any(copySetter[int32]()).(*setter[P]); ok {
			return s
		}
		return convertingSetter(func(v P) int32 { return int32(v) })
	}
	if s, ok := any(copySetter[int64]()).(*setter[P]); ok {
		return s
	}
	return convertingSetter(func(v P) int64 { return int64(v) })
}

// integerType describes the integers of a column.
type integerType struct {
	bits   int
	signed bool
}

// fits reports whether the Go type t can represent all integers of type i.
func (i integerType) fits(t reflect.Type) bool {
	if !isInteger(t) || t == dateType || t == durationType {
		return false
	}
	if signed := t.Kind() <= reflect.Int64; signed != i.signed {
		return signed && t.Bits() > i.bits
	}
	return t.Bits() >= i.bits
}

// mismatch returns the error for a field whose type cannot represent the values of its
// column.
func mismatch(f *field, column *schema.Column) error {
	return fmt.Errorf("column %q has the type %s: %s cannot have its values", column.Path(), typeName(column), f)
}

// typeName returns the name of a column's type, for messages.
func typeName(c *schema.Column) string {
	physical := c.PhysicalType().String()
	if c.PhysicalType() == parquet.Types.FixedLenByteArray {
		physical += fmt.Sprintf("(%d)", c.TypeLength())
	}
	if l := c.LogicalType(); l != nil && !l.IsNone() {
		return fmt.Sprintf("%s (%s)", physical, l)
	}
	return physical
}

func int32Setter(f *field, c *schema.Column) *setter[int32] {
	switch l := c.LogicalType().(type) {
	case schema.DateLogicalType:
		switch f.typ {
		case dateType:
			return copySetter[int32]()
		case timeType:
			return convertingSetter(func(v int32) time.Time { return Date(v).Time() })
		}
	case schema.TimeLogicalType:
		if f.typ == durationType {
			unit := unitOf(l.TimeUnit())
			return convertingSetter(func(v int32) time.Duration { return time.Duration(v) * unit })
		}
	case schema.DecimalLogicalType:
		return decimalSetter[int32](f, l)
	case schema.IntLogicalType:
		if f.decimal != nil || !(integerType{int(l.BitWidth()), l.IsSigned()}).fits(f.typ) {
			return nil
		}
		if !l.IsSigned() && f.typ.Bits() > 32 {
			return convertingSetter(func(v int32) int64 { return int64(uint32(v)) })
		}
		return integerSetter[int32](f.typ)
	default:
		if f.decimal == nil && (integerType{32, true}).fits(f.typ) {
			return integerSetter[int32](f.typ)
		}
	}
	return nil
}

func int64Setter(f *field, c *schema.Column) *setter[int64] {
	switch l := c.LogicalType().(type) {
	case schema.TimestampLogicalType:
		if f.typ == timeType {
			return convertingSetter(timesIn(l.TimeUnit()))
		}
	case schema.TimeLogicalType:
		if f.typ == durationType {
			unit := unitOf(l.TimeUnit())
			return convertingSetter(func(v int64) time.Duration { return time.Duration(v) * unit })
		}
	case schema.DecimalLogicalType:
		return decimalSetter[int64](f, l)
	case schema.IntLogicalType:
		if f.decimal == nil && (integerType{int(l.BitWidth()), l.IsSigned()}).fits(f.typ) {
			return integerSetter[int64](f.typ)
		}
	default:
		if f.decimal == nil && (integerType{64, true}).fits(f.typ) {
			return integerSetter[int64](f.typ)
		}
	}
	return nil
}

// unitOf returns the duration of a unit of TIME or TIMESTAMP values.
func unitOf(unit schema.TimeUnitType) time.Duration {
	switch unit {
	case schema.TimeUnitMillis:
		return time.Millisecond
	case schema.TimeUnitMicros:
		return time.Microsecond
	}
	return time.Nanosecond
}

// timesIn returns a function that converts a number of units since 1970-01-01 to a time.
func timesIn(unit schema.TimeUnitType) func(int64) time.Time {
	switch unit {
	case schema.TimeUnitMillis:
		return func(v int64) time.Time { return time.UnixMilli(v).UTC() }
	case schema.TimeUnitMicros:
		return func(v int64) time.Time { return time.UnixMicro(v).UTC() }
	}
	return func(v int64) time.Time { return time.Unix(0, v).UTC() }
}

// decimalSetter returns a setter for a column of decimals that are stored as integers in
// the file. It returns nil if the type of f cannot represent the decimals.
func decimalSetter[P int32 | int64](f *field, l schema.DecimalLogicalType) *setter[P] {
	if f.typ == numberType {
		scale := l.Scale()
		return convertingSetter(func(v P) Decimal { return NewDecimal(int64(v), scale) })
	}
	if f.decimal.holds(l) {
		return integerSetter[P](f.typ)
	}
	return nil
}

// holds reports whether an integer field with the tag option d can represent all decimals
// of type l. A nil d means that the field has no such option; then holds returns false.
func (d *decimalType) holds(l schema.DecimalLogicalType) bool {
	return d != nil && l.Scale() == d.scale && l.Precision() <= d.precision
}

func int96Setter(f *field) *setter[parquet.Int96] {
	if f.typ == timeType {
		return convertingSetter(int96Time)
	}
	return nil
}

// julianEpoch is the Julian day of 1970-01-01. INT96 timestamps count Julian days.
const julianEpoch = 2440588

func int96Time(v parquet.Int96) time.Time {
	days := int64(binary.LittleEndian.Uint32(v[8:])) - julianEpoch
	return time.Unix(days*secondsPerDay, int64(binary.LittleEndian.Uint64(v[:8]))).UTC()
}

func float32Setter(f *field) *setter[float32] {
	switch f.typ.Kind() {
	case reflect.Float32:
		return copySetter[float32]()
	case reflect.Float64:
		return convertingSetter(func(v float32) float64 { return float64(v) })
	}
	return nil
}
