package parquet

import (
	"encoding/binary"
	"math"
	"reflect"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/float16"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// byteValues are the physical types whose values point to the memory of a page.
type byteValues interface {
	parquet.ByteArray | parquet.FixedLenByteArray
}

// byteCopies stores copies of the []byte values of a batch, because the batch is used after
// the memory of its pages is overwritten.
type byteCopies struct{ memory []byte }

// of returns a copy of value. The copy is not nil, even if value is empty.
func (c *byteCopies) of(value []byte) []byte {
	if len(value) > cap(c.memory)-len(c.memory) {
		c.memory = make([]byte, 0, max(2*cap(c.memory), len(value), 4<<10))
	}
	start := len(c.memory)
	c.memory = append(c.memory, value...)
	return c.memory[start:len(c.memory):len(c.memory)]
}

// reset lets later copies overwrite the earlier ones.
func (c *byteCopies) reset() { c.memory = c.memory[:0] }

// bytesSetter returns the setter of a column of bytes, or nil if the type of f cannot
// represent the column's values. If f is a []byte, the setter stores copies from kept.
func bytesSetter[P byteValues](f *field, c *schema.Column, kept *byteCopies) *setter[P] {
	length := c.TypeLength() // 0 if values can differ in length
	switch l := c.LogicalType().(type) {
	case schema.DecimalLogicalType:
		if f.typ.Kind() != reflect.Slice {
			return byteDecimalSetter[P](f, l)
		}
	case schema.Float16LogicalType:
		switch f.typ.Kind() {
		case reflect.Float32:
			return convertingSetter(func(v P) float32 { return float16Value([]byte(v)) })
		case reflect.Float64:
			return convertingSetter(func(v P) float64 { return float64(float16Value([]byte(v))) })
		}
		return nil
	}
	switch f.typ.Kind() {
	case reflect.String:
		t := &stringCache{}
		return convertingSetter(func(v P) string { return t.of([]byte(v)) })
	case reflect.Slice:
		return convertingSetter(func(v P) []byte { return kept.of([]byte(v)) })
	case reflect.Array:
		if c.PhysicalType() == parquet.Types.FixedLenByteArray && f.typ.Len() == length {
			return arraySetter[P](length)
		}
	}
	return nil
}

// arraySetter returns a setter that stores values in arrays of bytes.
func arraySetter[P byteValues](length int) *setter[P] {
	one := func(at unsafe.Pointer, value P) { copy(unsafe.Slice((*byte)(at), length), value) }
	return &setter[P]{setOne: one, setAll: func(at unsafe.Pointer, stride uintptr, values []P, selected []bool) {
		for i, value := range values {
			if selected == nil || selected[i] {
				one(unsafe.Add(at, uintptr(i)*stride), value)
			}
		}
	}}
}

// float16Value returns the value of a FLOAT16, a half-precision float.
func float16Value(b []byte) float32 {
	return float16.FromBits(binary.LittleEndian.Uint16(b)).Float32()
}

// byteDecimalSetter returns a setter for a column of decimals that are stored as big-endian
// bytes in the file. It returns nil if the type of f cannot represent the decimals.
func byteDecimalSetter[P byteValues](f *field, l schema.DecimalLogicalType) *setter[P] {
	if l.Precision() > maxPrecision {
		return nil
	}
	scale := l.Scale()
	switch {
	case f.typ == numberType:
		return convertingSetter(func(v P) Decimal { return decimalOfBytes([]byte(v), scale) })
	case !f.decimal.holds(l):
		return nil
	}
	low := func(v P) uint64 { return decimalOfBytes([]byte(v), scale).Low }
	switch f.typ.Bits() {
	case 8:
		return convertingSetter(func(v P) int8 { return int8(low(v)) })
	case 16:
		return convertingSetter(func(v P) int16 { return int16(low(v)) })
	case 32:
		return convertingSetter(func(v P) int32 { return int32(low(v)) })
	}
	return convertingSetter(func(v P) int64 { return int64(low(v)) })
}

// decimalOfBytes returns the decimal whose unscaled value is the big-endian integer b. If b
// has more than 128 bits, which valid files do not contain, it ignores the highest bits.
func decimalOfBytes(b []byte, scale int32) Decimal {
	d := Decimal{Scale: scale}
	if len(b) > 0 && b[0]&0x80 != 0 {
		d.High, d.Low = -1, math.MaxUint64
	}
	for _, x := range b {
		d.High = d.High<<8 | int64(d.Low>>56)
		d.Low = d.Low<<8 | uint64(x)
	}
	return d
}
