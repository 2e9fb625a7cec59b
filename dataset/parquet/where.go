package parquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/metadata"
)

// Operator is a comparison of the values of a column with another value; see [Where].
type Operator int

// Operators of [Where].
const (
	Equal Operator = iota
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// String returns the operator in Go's notation.
func (o Operator) String() string {
	if o < Equal || o > GreaterOrEqual {
		return fmt.Sprintf("Operator(%d)", int(o))
	}
	return [...]string{"==", "!=", "<", "<=", ">", ">="}[o]
}

// holds reports whether the operator is true for two values. c is negative if the first
// value is less, 0 if they are equal, and positive otherwise.
func (o Operator) holds(c int) bool {
	switch o {
	case Equal:
		return c == 0
	case NotEqual:
		return c != 0
	case Less:
		return c < 0
	case LessOrEqual:
		return c <= 0
	case Greater:
		return c > 0
	}
	return c >= 0
}

// mayHold reports whether the operator can be true for at least one value of a range. low
// and high are the results of comparing the ends of the range with the predicate's value.
func (o Operator) mayHold(low, high int) bool {
	switch o {
	case Equal:
		return low <= 0 && high >= 0
	case NotEqual:
		return low != 0 || high != 0
	case Less, LessOrEqual:
		return o.holds(low)
	}
	return o.holds(high)
}

// predicate is one option [Where].
type predicate struct {
	column string
	op     Operator
	value  any
}

// Where makes [Read] and [ReadRecords] return only the rows for which the comparison
// "column op value" is true. A row group is not read if its statistics show that it has no
// such rows. If there are several options Where, all comparisons must be true.
//
// The column may be in groups, as in "address.city", but not in a list or map. The elements
// need not have a field for it. value must be of a type that a field for the column can
// have. In addition, values of any integer type, and float64, can be compared with numbers
// of all sizes, and integers and Decimal with decimals of any scale. Strings and bytes are
// compared byte by byte. For NaN, only NotEqual is true.
//
// For nulls in the column, all comparisons are false, except Equal with the value nil.
// NotEqual with the value nil is true for all values but nulls.
func Where(column string, op Operator, value any) ReadOption {
	return func(o *options) { o.predicates = append(o.predicates, predicate{column, op, value}) }
}

// nullTest is what a column's predicates with the value nil require.
type nullTest int

const (
	anyValue nullTest = iota
	onlyNull
	notNull
)

// test is a predicate whose value is not nil. It tests values that are not null.
type test[P any] struct {
	// match sets selected[i] to false if values[i] does not match.
	match func(values []P, selected []bool)
	// mayMatch reports whether at least one value from low to high, both included, can
	// match.
	mayMatch func(low, high P) bool
}

// orderedTest returns a test that compares numbers with bound.
func orderedTest[P int32 | int64 | float32 | float64](op Operator, bound P) test[P] {
	t := comparedTest(op, func(v P) int { // never called with NaN
		switch {
		case v < bound:
			return -1
		case v > bound:
			return 1
		}
		return 0
	})
	switch op {
	case Equal:
		t.match = func(values []P, selected []bool) {
			for i, v := range values {
				selected[i] = selected[i] && v == bound
			}
		}
	case NotEqual:
		t.match = func(values []P, selected []bool) {
			for i, v := range values {
				selected[i] = selected[i] && v != bound
			}
		}
		t.mayMatch = func(low, high P) bool { return true } // NaN matches, but statistics do not include it
	case Less:
		t.match = func(values []P, selected []bool) {
			for i, v := range values {
				selected[i] = selected[i] && v < bound
			}
		}
	case LessOrEqual:
		t.match = func(values []P, selected []bool) {
			for i, v := range values {
				selected[i] = selected[i] && v <= bound
			}
		}
	case Greater:
		t.match = func(values []P, selected []bool) {
			for i, v := range values {
				selected[i] = selected[i] && v > bound
			}
		}
	case GreaterOrEqual:
		t.match = func(values []P, selected []bool) {
			for i, v := range values {
				selected[i] = selected[i] && v >= bound
			}
		}
	}
	return t
}

// comparedTest returns a test for an operator. compare compares a value of the column with
// the predicate's value, as cmp.Compare does.
func comparedTest[P any](op Operator, compare func(P) int) test[P] {
	return test[P]{
		match: func(values []P, selected []bool) {
			for i, v := range values {
				if selected[i] && !op.holds(compare(v)) {
					selected[i] = false
				}
			}
		},
		mayMatch: func(low, high P) bool { return op.mayHold(compare(low), compare(high)) },
	}
}

// filter deselects rows that do not match. levels is the number of rows of the last read,
// and values has the values of these rows, except nulls.
func (c *typedColumn[P]) filter(levels int, values []P, selected []bool) {
	if len(values) == levels {
		if c.null == onlyNull {
			clear(selected)
		}
		for _, t := range c.tests {
			t.match(values, selected)
		}
		return
	}
	if cap(c.hits) < len(values) {
		c.hits = make([]bool, batchRows)
	}
	hits := c.hits[:len(values)]
	for i := range hits {
		hits[i] = c.null != onlyNull
	}
	for _, t := range c.tests {
		t.match(values, hits)
	}
	next := 0
	for i := range selected {
		hit := c.null == onlyNull && c.tests == nil
		if c.defs[i] == c.definitions {
			hit = hits[next]
			next++
		}
		selected[i] = selected[i] && hit
	}
}

// minMaxStatistics is implemented by arrow-go's statistics of columns with the ordered
// physical type P. It has only the methods that typedColumn calls.
type minMaxStatistics[P any] interface {
	Min() P
	Max() P
}

func (c *typedColumn[P]) excluded(chunk *metadata.ColumnChunkMetaData) (bool, error) {
	if !c.filters() {
		return false, nil
	}
	statistics, err := chunk.Statistics()
	if err != nil || statistics == nil {
		return false, err
	}
	if statistics.HasNullCount() {
		switch nulls := statistics.NullCount(); {
		case c.null == onlyNull && nulls == 0:
			return true, nil
		case (c.null == notNull || c.tests != nil) && nulls == chunk.NumValues():
			return true, nil
		}
	}
	bounds, ok := statistics.(minMaxStatistics[P])
	if !ok || !statistics.HasMinMax() {
		return false, nil
	}
	for _, t := range c.tests {
		if !t.mayMatch(bounds.Min(), bounds.Max()) {
			return true, nil
		}
	}
	return false, nil
}
