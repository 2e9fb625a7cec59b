package parquet

import (
	"time"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/float16"
)

// appender appends the value of a field at an address to an Arrow array.
type appender func(at unsafe.Pointer)

// appenderFor returns an appender that adds values of the field f to b. f must be made by
// the type mirror. The array that b builds must have the type that arrowType returns for f.
func appenderFor(f *field, b array.Builder) appender {
	inner := innerAppender(f, b)
	if !f.pointer {
		return inner
	}
	return func(at unsafe.Pointer) {
		if p := *(*unsafe.Pointer)(at); p != nil {
			inner(p)
		} else {
			b.AppendNull()
		}
	}
}

// innerAppender is like appenderFor, but if f is a pointer, its appender is for the value
// to which f points.
func innerAppender(f *field, b array.Builder) appender {
	switch f.shape {
	case groupShape:
		b := b.(*array.StructBuilder)
		children := childAppenders(f, b.FieldBuilder)
		return func(at unsafe.Pointer) {
			b.Append(true)
			children(at)
		}
	case listShape:
		return listAppender(f, b)
	}
	return valueAppender(f, b)
}

// childAppenders returns an appender for a group. It appends each field i of the group to
// builder(i).
func childAppenders(group *field, builder func(i int) array.Builder) appender {
	appenders := make([]appender, len(group.children))
	for i, child := range group.children {
		appenders[i] = appenderFor(child, builder(i))
	}
	return func(at unsafe.Pointer) {
		for i, child := range group.children {
			appenders[i](unsafe.Add(at, child.offset))
		}
	}
}

func listAppender(f *field, b array.Builder) appender {
	var element appender
	var begin func(valid bool) // begins a list
	switch b := b.(type) {
	case *array.MapBuilder:
		element = childAppenders(f.children[0], func(i int) array.Builder {
			return []array.Builder{b.KeyBuilder(), b.ItemBuilder()}[i]
		})
		begin = b.Append
	case *array.ListBuilder:
		element, begin = appenderFor(f.children[0], b.ValueBuilder()), b.Append
	}
	size := f.typ.Elem().Size()
	nullable := isNullable(f)
	return func(at unsafe.Pointer) {
		slice := (*sliceHeader)(at)
		begin(slice.data != nil || !nullable)
		for i := range slice.len {
			element(unsafe.Add(slice.data, uintptr(i)*size))
		}
	}
}

func valueAppender(f *field, b array.Builder) appender {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return appending(b.Append)
	case *array.Int8Builder:
		return appending(b.Append)
	case *array.Int16Builder:
		return appending(b.Append)
	case *array.Int32Builder:
		return appending(b.Append)
	case *array.Int64Builder:
		return appending(b.Append)
	case *array.Uint8Builder:
		return appending(b.Append)
	case *array.Uint16Builder:
		return appending(b.Append)
	case *array.Uint32Builder:
		return appending(b.Append)
	case *array.Uint64Builder:
		return appending(b.Append)
	case *array.Float16Builder:
		return appending(func(v float32) { b.Append(float16.New(v)) })
	case *array.Float32Builder:
		return appending(b.Append)
	case *array.Float64Builder:
		return appending(b.Append)
	case *array.Decimal128Builder:
		return appending(func(v Decimal) { b.Append(decimal128.New(v.High, v.Low)) })
	case *array.Date32Builder:
		return appending(func(v Date) { b.Append(arrow.Date32(v)) })
	case *array.Time32Builder:
		unit := b.Type().(*arrow.Time32Type).Unit.Multiplier()
		return appending(func(v time.Duration) { b.Append(arrow.Time32(v / unit)) })
	case *array.Time64Builder:
		unit := b.Type().(*arrow.Time64Type).Unit.Multiplier()
		return appending(func(v time.Duration) { b.Append(arrow.Time64(v / unit)) })
	case *array.TimestampBuilder:
		since := map[arrow.TimeUnit]func(time.Time) int64{
			arrow.Millisecond: time.Time.UnixMilli, arrow.Microsecond: time.Time.UnixMicro, arrow.Nanosecond: time.Time.UnixNano,
		}[b.Type().(*arrow.TimestampType).Unit]
		return appending(func(v time.Time) { b.Append(arrow.Timestamp(since(v))) })
	case *array.StringBuilder:
		return bytesAppender(b.BinaryBuilder.Append, b.AppendNull)
	case *array.BinaryBuilder:
		return bytesAppender(b.Append, b.AppendNull)
	}
	fixed := b.(*array.FixedSizeBinaryBuilder)
	return bytesAppender(fixed.Append, fixed.AppendNull)
}

// appending returns an appender of values of type T.
func appending[T any](appendValue func(T)) appender {
	return func(at unsafe.Pointer) { appendValue(*(*T)(at)) }
}

// bytesAppender returns an appender of []byte values. It appends nil as null.
func bytesAppender(appendValue func([]byte), appendNull func()) appender {
	return func(at unsafe.Pointer) {
		if value := *(*[]byte)(at); value != nil {
			appendValue(value)
		} else {
			appendNull()
		}
	}
}
