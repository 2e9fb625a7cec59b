package dataset

import (
	"reflect"

	"github.com/bobbin-yarn/bobbin/shuffle"
)

// heapEstimate estimates the size of the memory to which the accumulators of a table refer:
// slices, strings, maps and values behind pointers. It does not include the memory of the
// table itself, which Table.Bytes returns.
//
// It measures all accumulators from time to time. Between measurements, it assumes that the
// memory grows with each added record by the average growth per record between the last two
// measurements. If a measurement visited n values, the next one follows after n records, but
// not before minMeasured records. So the cost for each record is about the same, however
// large the accumulators are.
type heapEstimate struct {
	noPointers bool // accumulators contain no pointers

	bytes   int64   // size at the last measurement
	visited int     // number of values that the last measurement visited
	added   int     // number of records since the last measurement
	growth  float64 // average growth in bytes per record between the last two measurements
}

// minMeasured is the smallest number of records between two measurements.
const minMeasured = 1024

func newHeapEstimate[A any]() heapEstimate {
	return heapEstimate{noPointers: hasNoPointers(reflect.TypeFor[A]())}
}

// reset sets the estimate to that of an empty table. It does not reset growth.
func (r *heapEstimate) reset() { *r = heapEstimate{noPointers: r.noPointers, growth: r.growth} }

// tooLarge must be called after each record that is merged into an accumulator of a table.
// It updates the estimate r, and reports whether the table and the memory to which its
// accumulators refer exceed limit bytes.
func tooLarge[A any](table *shuffle.Table[A], r *heapEstimate, limit int64) bool {
	if r.noPointers {
		return table.Bytes() > limit
	}
	if r.added++; r.added >= max(minMeasured, r.visited) {
		before := r.bytes
		r.bytes, r.visited = 0, 0
		for _, accumulator := range table.All() {
			r.measure(reflect.ValueOf(accumulator).Elem())
		}
		r.growth = max(float64(r.bytes-before), 0) / float64(r.added)
		r.added = 0
	}
	return table.Bytes()+r.bytes+int64(r.growth*float64(r.added)) > limit
}

// measure adds to r.bytes the size of the memory to which a value refers.
func (r *heapEstimate) measure(v reflect.Value) {
	r.visited++
	switch v.Kind() {
	case reflect.String:
		r.bytes += int64(v.Len())
	case reflect.Slice:
		element := v.Type().Elem()
		r.bytes += int64(v.Cap()) * int64(element.Size())
		r.measureElements(v, element)
	case reflect.Array:
		r.measureElements(v, v.Type().Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); !hasNoPointers(field.Type()) {
				r.measure(field)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			r.bytes += int64(v.Type().Elem().Size())
			r.measure(v.Elem())
		}
	case reflect.Map:
		key, value := v.Type().Key(), v.Type().Elem()
		r.bytes += int64(v.Len()) * int64(key.Size()+value.Size()) * 2 // maps are about half full
		if hasNoPointers(key) && hasNoPointers(value) {
			return
		}
		for entries := v.MapRange(); entries.Next(); {
			r.measure(entries.Key())
			r.measure(entries.Value())
		}
	case reflect.Interface:
		if !v.IsNil() {
			r.bytes += int64(v.Elem().Type().Size())
			r.measure(v.Elem())
		}
	}
}

func (r *heapEstimate) measureElements(v reflect.Value, element reflect.Type) {
	if hasNoPointers(element) {
		return
	}
	for i := range v.Len() {
		r.measure(v.Index(i))
	}
}
