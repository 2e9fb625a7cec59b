package parquet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// predicate adds the predicate p to its column. If b does not have the column yet, because
// no field is read from it, predicate first adds the column to b.
func (b *binder) predicate(p predicate) error {
	if p.op < Equal || p.op > GreaterOrEqual {
		return errors.New("there is no such operator")
	}
	number, err := b.find(p.column)
	if err != nil {
		return err
	}
	descriptor := b.schema.Column(number)
	if descriptor.MaxRepetitionLevel() > 0 {
		return errors.New("the column is in a list or map")
	}
	i := slices.IndexFunc(b.columns, func(c column) bool { return c.index() == number })
	if i < 0 {
		i = len(b.columns)
		b.columns = append(b.columns, newColumn(nil, descriptor, number, columnPath{}))
	}
	switch c := b.columns[i].(type) {
	case *typedColumn[bool]:
		return addTest(c, p, boolTest)
	case *typedColumn[int32]:
		return addTest(c, p, int32Test)
	case *typedColumn[int64]:
		return addTest(c, p, int64Test)
	case *typedColumn[parquet.Int96]:
		return addTest(c, p, int96Test)
	case *typedColumn[float32]:
		return addTest(c, p, float32Test)
	case *typedColumn[float64]:
		return addTest(c, p, float64Test)
	case *typedColumn[parquet.ByteArray]:
		return addTest(c, p, bytesTest[parquet.ByteArray])
	case *typedColumn[parquet.FixedLenByteArray]:
		return addTest(c, p, bytesTest[parquet.FixedLenByteArray])
	}
	return nil
}

// find returns the position of the column with a path such as "address.city".
func (b *binder) find(path string) (int, error) {
	group, prefix := b.schema.Root(), ""
	rest := path
	for {
		// A name may itself contain dots.
		for i := range group.NumFields() {
			if group.Field(i).Name() == rest && group.Field(i).Type() == schema.Primitive {
				return b.schema.ColumnIndexByNode(group.Field(i)), nil
			}
		}
		name, after, below := strings.Cut(rest, ".")
		i := findField(group, name)
		if i < 0 {
			return 0, fmt.Errorf("there is no column %q: %s", prefix+rest, describeFields(group))
		}
		node := group.Field(i)
		next, isGroup := node.(*schema.GroupNode)
		switch {
		case !isGroup && !below:
			return b.schema.ColumnIndexByNode(node), nil
		case !isGroup:
			return 0, fmt.Errorf("the column %q has no columns below it", prefix+name)
		case !below:
			return 0, fmt.Errorf("%q has several columns: %s", path, describeFields(next))
		}
		group, prefix, rest = next, prefix+name+".", after
	}
}

// addTest adds a predicate to a column. newTest returns false if the column's values cannot
// be compared with the predicate's value.
func addTest[P any](c *typedColumn[P], p predicate, newTest func(d *schema.Column, op Operator, value any) (test[P], bool)) error {
	if p.value == nil {
		switch p.op {
		case Equal:
			c.null = onlyNull
		case NotEqual:
			c.null = max(c.null, notNull)
		default:
			return errors.New("nil has no order")
		}
		return nil
	}
	t, ok := newTest(c.descriptor, p.op, p.value)
	if !ok {
		return fmt.Errorf("the column has the type %s: its values cannot be compared with a %T", typeName(c.descriptor), p.value)
	}
	c.tests = append(c.tests, t)
	return nil
}

func boolTest(_ *schema.Column, op Operator, value any) (test[bool], bool) {
	bound, ok := value.(bool)
	number := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return comparedTest(op, func(v bool) int { return number(v) - number(bound) }), ok
}

// integer returns the value of an integer as an int64. It returns false for Date,
// time.Duration and other types, and if the value is greater than any int64.
func integer(value any) (int64, bool) {
	v := reflect.ValueOf(value)
	switch {
	case v.Type() == dateType || v.Type() == durationType:
		return 0, false
	case v.CanInt():
		return v.Int(), true
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return int64(v.Uint()), true
	}
	return 0, false
}

func int32Test(d *schema.Column, op Operator, value any) (test[int32], bool) {
	switch l := d.LogicalType().(type) {
	case schema.DateLogicalType:
		switch day := value.(type) {
		case Date:
			return orderedTest(op, int32(day)), true
		case time.Time:
			return comparedTest(op, func(v int32) int { return Date(v).Time().Compare(day) }), true
		}
		return test[int32]{}, false
	case schema.TimeLogicalType:
		bound, ok := value.(time.Duration)
		unit := unitOf(l.TimeUnit())
		return comparedTest(op, func(v int32) int { return cmp.Compare(time.Duration(v)*unit, bound) }), ok
	case schema.DecimalLogicalType:
		compare, ok := decimalCompare(value)
		return comparedTest(op, func(v int32) int { return compare(NewDecimal(int64(v), l.Scale())) }), ok
	case schema.IntLogicalType:
		if !l.IsSigned() {
			bound, ok := integer(value)
			return comparedTest(op, func(v int32) int { return cmp.Compare(int64(uint32(v)), bound) }), ok
		}
	}
	bound, ok := integer(value)
	if int64(int32(bound)) == bound {
		return orderedTest(op, int32(bound)), ok
	}
	return comparedTest(op, func(v int32) int { return cmp.Compare(int64(v), bound) }), ok
}

func int64Test(d *schema.Column, op Operator, value any) (test[int64], bool) {
	switch l := d.LogicalType().(type) {
	case schema.TimestampLogicalType:
		bound, ok := value.(time.Time)
		toTime := timesIn(l.TimeUnit())
		return comparedTest(op, func(v int64) int { return toTime(v).Compare(bound) }), ok
	case schema.TimeLogicalType:
		bound, ok := value.(time.Duration)
		unit := unitOf(l.TimeUnit())
		return comparedTest(op, func(v int64) int { return cmp.Compare(time.Duration(v)*unit, bound) }), ok
	case schema.DecimalLogicalType:
		compare, ok := decimalCompare(value)
		if unscaled, exact := exactly(value, l.Scale()); exact {
			return orderedTest(op, unscaled), ok
		}
		return comparedTest(op, func(v int64) int { return compare(NewDecimal(v, l.Scale())) }), ok
	case schema.IntLogicalType:
		if !l.IsSigned() {
			if bound, ok := value.(uint64); ok {
				return comparedTest(op, func(v int64) int { return cmp.Compare(uint64(v), bound) }), true
			}
			bound, ok := integer(value)
			return comparedTest(op, func(v int64) int {
				if v < 0 || bound < 0 {
					return 1
				}
				return cmp.Compare(v, bound)
			}), ok
		}
	}
	bound, ok := integer(value)
	return orderedTest(op, bound), ok
}

func int96Test(_ *schema.Column, op Operator, value any) (test[parquet.Int96], bool) {
	bound, ok := value.(time.Time)
	return comparedTest(op, func(v parquet.Int96) int { return int96Time(v).Compare(bound) }), ok
}

// float returns the value of a float or integer as a float64. It returns false for other types,
// and for integers that a float64 cannot hold.
func float(value any) (float64, bool) {
	if v := reflect.ValueOf(value); v.CanFloat() {
		return v.Float(), true
	}
	n, ok := integer(value)
	return float64(n), ok && int64(float64(n)) == n
}

func float32Test(_ *schema.Column, op Operator, value any) (test[float32], bool) {
	bound, ok := float(value)
	wide := orderedTest(op, bound)
	return test[float32]{
		match: func(values []float32, selected []bool) {
			one := [1]float64{}
			for i, v := range values {
				one[0] = float64(v)
				wide.match(one[:], selected[i:i+1])
			}
		},
		mayMatch: func(low, high float32) bool { return wide.mayMatch(float64(low), float64(high)) },
	}, ok
}

func float64Test(_ *schema.Column, op Operator, value any) (test[float64], bool) {
	bound, ok := float(value)
	return orderedTest(op, bound), ok
}

// decimalCompare returns a function that compares decimals with value. It returns false if
// value is neither a Decimal nor an integer.
func decimalCompare(value any) (func(Decimal) int, bool) {
	bound, ok := value.(Decimal)
	if !ok {
		var n int64
		n, ok = integer(value)
		bound = NewDecimal(n, 0)
	}
	return func(d Decimal) int { return d.Compare(bound) }, ok
}

// exactly returns value, an integer or Decimal, times 10^scale. It returns false if value
// has more than scale digits after the point, or if the result does not fit into an int64.
func exactly(value any, scale int32) (int64, bool) {
	d, ok := value.(Decimal)
	if !ok {
		n, ok := integer(value)
		if !ok {
			return 0, false
		}
		d = NewDecimal(n, 0)
	}
	if d.Scale > scale {
		return 0, false
	}
	unscaled := d.atScale(scale)
	return unscaled.Int64(), unscaled.IsInt64()
}

func bytesTest[P byteValues](d *schema.Column, op Operator, value any) (test[P], bool) {
	switch l := d.LogicalType().(type) {
	case schema.DecimalLogicalType:
		compare, ok := decimalCompare(value)
		scale := l.Scale()
		return comparedTest(op, func(v P) int { return compare(decimalOfBytes([]byte(v), scale)) }), ok && l.Precision() <= maxPrecision
	case schema.Float16LogicalType, schema.IntervalLogicalType:
		return test[P]{}, false
	}
	var bound []byte
	switch v := reflect.ValueOf(value); {
	case v.Kind() == reflect.String:
		bound = []byte(v.String())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		bound = bytes.Clone(v.Bytes())
	case v.Kind() == reflect.Array && v.Type().Elem().Kind() == reflect.Uint8:
		bound = make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(bound), v)
	default:
		return test[P]{}, false
	}
	return comparedTest(op, func(v P) int { return bytes.Compare([]byte(v), bound) }), true
}
