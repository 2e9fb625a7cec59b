package parquet

import (
	"fmt"
	"math/big"
	"reflect"
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// columnBuffer buffers the values of a column until they are encoded.
type columnBuffer interface {
	size() int // in bytes
	flush(w file.ColumnChunkWriter) error
}

// batchWriter is implemented by arrow-go's column chunk writer for the physical type P. It
// has only the method that the type buffer calls.
type batchWriter[P any] interface {
	WriteBatch(values []P, definitions, repetitions []int16) (int64, error)
}

// buffer is the columnBuffer for the physical type P.
type buffer[P any] struct {
	levels
	values []P
	defs   []int16
	reps   []int16
	bytes  int        // total size of the memory to which values point
	kept   byteCopies // copies of values whose memory the caller may change
}

func (b *buffer[P]) size() int {
	return len(b.values)*int(unsafe.Sizeof(*new(P))) + 2*(len(b.defs)+len(b.reps)) + b.bytes
}

func (b *buffer[P]) flush(w file.ColumnChunkWriter) error {
	writer, ok := w.(batchWriter[P])
	if !ok {
		return fmt.Errorf("the column %q has the type %v", w.Descr().Path(), w.Type())
	}
	if _, err := writer.WriteBatch(b.values, b.defs, b.reps); err != nil {
		return err
	}
	clear(b.values)
	b.values, b.defs, b.reps, b.bytes = b.values[:0], b.defs[:0], b.reps[:0], 0
	b.kept.reset()
	return nil
}

// addColumn adds a buffer for a column, and returns the shredder that adds values to it.
// convert returns the value at an address and true, or false if the value is null.
func addColumn[P any](e *encoder, l levels, convert func(b *buffer[P], at unsafe.Pointer) (P, bool, error)) shredder {
	b := &buffer[P]{levels: l}
	e.columns = append(e.columns, b)
	return func(at unsafe.Pointer, rep, def int16) error {
		if at != nil {
			value, ok, err := convert(b, at)
			if err != nil {
				return err
			}
			if ok {
				b.values = append(b.values, value)
				def = l.def
			}
		}
		if l.def > 0 {
			b.defs = append(b.defs, def)
		}
		if l.rep > 0 {
			b.reps = append(b.reps, rep)
		}
		return nil
	}
}

// addPlainColumn is like addColumn, for values that are never null and can always be
// written.
func addPlainColumn[P any](e *encoder, l levels, convert func(at unsafe.Pointer) P) shredder {
	return addColumn(e, l, func(_ *buffer[P], at unsafe.Pointer) (P, bool, error) { return convert(at), true, nil })
}

// value returns the schema node of a field with one column, and the shredder for it.
func (e *encoder) value(f *field, name string, repetition parquet.Repetition, l levels) (schema.Node, shredder, error) {
	logical := func(t schema.LogicalType, physical parquet.Type, length int, write shredder) (schema.Node, shredder, error) {
		node, err := schema.NewPrimitiveNodeLogical(name, repetition, t, physical, length, -1)
		return node, write, err
	}
	switch f.typ {
	case timeType:
		return logical(schema.NewTimestampLogicalType(true, schema.TimeUnitMicros), parquet.Types.Int64, 0,
			addPlainColumn(e, l, func(at unsafe.Pointer) int64 { return (*time.Time)(at).UnixMicro() }))
	case durationType:
		return logical(schema.NewTimeLogicalType(false, schema.TimeUnitMicros), parquet.Types.Int64, 0,
			addPlainColumn(e, l, func(at unsafe.Pointer) int64 { return (*time.Duration)(at).Microseconds() }))
	case dateType:
		return logical(schema.DateLogicalType{}, parquet.Types.Int32, 0, addPlainColumn(e, l, func(at unsafe.Pointer) int32 { return *(*int32)(at) }))
	}
	if f.typ == numberType || f.decimal != nil {
		return e.number(f, logical, l)
	}
	switch f.typ.Kind() {
	case reflect.Bool:
		return logical(schema.NoLogicalType{}, parquet.Types.Boolean, 0, addPlainColumn(e, l, func(at unsafe.Pointer) bool { return *(*bool)(at) }))
	case reflect.Float32:
		return logical(schema.NoLogicalType{}, parquet.Types.Float, 0, addPlainColumn(e, l, func(at unsafe.Pointer) float32 { return *(*float32)(at) }))
	case reflect.Float64:
		return logical(schema.NoLogicalType{}, parquet.Types.Double, 0, addPlainColumn(e, l, func(at unsafe.Pointer) float64 { return *(*float64)(at) }))
	case reflect.String:
		return logical(schema.StringLogicalType{}, parquet.Types.ByteArray, 0,
			addColumn(e, l, func(b *buffer[parquet.ByteArray], at unsafe.Pointer) (parquet.ByteArray, bool, error) {
				s := *(*string)(at)
				b.bytes += len(s)
				return unsafe.Slice(unsafe.StringData(s), len(s)), true, nil
			}))
	case reflect.Slice:
		return logical(schema.NoLogicalType{}, parquet.Types.ByteArray, 0,
			addColumn(e, l, func(b *buffer[parquet.ByteArray], at unsafe.Pointer) (parquet.ByteArray, bool, error) {
				value := *(*[]byte)(at)
				if value == nil {
					return nil, false, nil
				}
				b.bytes += len(value)
				return b.kept.of(value), true, nil
			}))
	case reflect.Array:
		length := f.typ.Len()
		return logical(schema.NoLogicalType{}, parquet.Types.FixedLenByteArray, length,
			addColumn(e, l, func(b *buffer[parquet.FixedLenByteArray], at unsafe.Pointer) (parquet.FixedLenByteArray, bool, error) {
				b.bytes += length
				return b.kept.of(unsafe.Slice((*byte)(at), length)), true, nil
			}))
	}
	read := readInteger(f.typ)
	signed, bits := f.typ.Kind() <= reflect.Int64, f.typ.Bits()
	var t schema.LogicalType = schema.NoLogicalType{}
	if !signed || bits < 32 {
		t = schema.NewIntLogicalType(int8(bits), signed)
	}
	if bits == 64 {
		return logical(t, parquet.Types.Int64, 0, addPlainColumn(e, l, read))
	}
	return logical(t, parquet.Types.Int32, 0, addPlainColumn(e, l, func(at unsafe.Pointer) int32 { return int32(read(at)) }))
}

// readInteger returns a function that reads an integer of a type.
func readInteger(t reflect.Type) func(at unsafe.Pointer) int64 {
	switch t.Kind() {
	case reflect.Int8:
		return func(at unsafe.Pointer) int64 { return int64(*(*int8)(at)) }
	case reflect.Int16:
		return func(at unsafe.Pointer) int64 { return int64(*(*int16)(at)) }
	case reflect.Int32:
		return func(at unsafe.Pointer) int64 { return int64(*(*int32)(at)) }
	case reflect.Uint8:
		return func(at unsafe.Pointer) int64 { return int64(*(*uint8)(at)) }
	case reflect.Uint16:
		return func(at unsafe.Pointer) int64 { return int64(*(*uint16)(at)) }
	case reflect.Uint32:
		return func(at unsafe.Pointer) int64 { return int64(*(*uint32)(at)) }
	}
	return func(at unsafe.Pointer) int64 { return *(*int64)(at) }
}

// number is like the method value, for decimals. It writes them as INT32 or INT64 if their
// precision allows this, otherwise as a byte array of the smallest sufficient fixed length.
// Spark does the same.
func (e *encoder) number(f *field, logical func(schema.LogicalType, parquet.Type, int, shredder) (schema.Node, shredder, error), l levels) (schema.Node, shredder, error) {
	if f.decimal == nil {
		return nil, nil, fmt.Errorf("%s needs a tag that says how many digits it has, such as `parquet:\"name,decimal(15,2)\"`", f)
	}
	d := *f.decimal
	limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.precision)), nil)
	exact := func(at unsafe.Pointer) (*big.Int, error) { return (*Decimal)(at).exactly(d.scale) }
	if f.typ != numberType {
		read := readInteger(f.typ)
		unsigned := f.typ.Kind() > reflect.Int64
		exact = func(at unsafe.Pointer) (*big.Int, error) {
			if unsigned {
				return new(big.Int).SetUint64(uint64(read(at))), nil
			}
			return big.NewInt(read(at)), nil
		}
	}
	unscaled := func(at unsafe.Pointer) (*big.Int, error) {
		v, err := exact(at)
		if err == nil && v.CmpAbs(limit) >= 0 {
			err = fmt.Errorf("the unscaled value %v has more than %d digits", v, d.precision)
		}
		if err != nil {
			return v, fmt.Errorf("%s: %w", f, err)
		}
		return v, nil
	}
	t := schema.NewDecimalLogicalType(d.precision, d.scale)
	switch {
	case d.precision <= 9:
		return logical(t, parquet.Types.Int32, 0, addColumn(e, l, func(_ *buffer[int32], at unsafe.Pointer) (int32, bool, error) {
			v, err := unscaled(at)
			return int32(v.Int64()), true, err
		}))
	case d.precision <= 18:
		return logical(t, parquet.Types.Int64, 0, addColumn(e, l, func(_ *buffer[int64], at unsafe.Pointer) (int64, bool, error) {
			v, err := unscaled(at)
			return v.Int64(), true, err
		}))
	}
	length := decimalBytes(d.precision)
	return logical(t, parquet.Types.FixedLenByteArray, length,
		addColumn(e, l, func(b *buffer[parquet.FixedLenByteArray], at unsafe.Pointer) (parquet.FixedLenByteArray, bool, error) {
			v, err := unscaled(at)
			if err != nil {
				return nil, false, err
			}
			if v.Sign() < 0 { // two's complement
				v.Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*length)))
			}
			b.bytes += length
			return b.kept.of(v.FillBytes(make([]byte, length))), true, nil
		}))
}

// decimalBytes returns how many bytes a decimal with precision digits and its sign needs.
func decimalBytes(precision int32) int {
	largest := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
	return largest.BitLen()/8 + 1
}
