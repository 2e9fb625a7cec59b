package parquet

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
)

// batch is a batch of rows in memory. It is filled column by column.
type batch struct {
	rows     unsafe.Pointer // the first row
	stride   uintptr        // bytes of a row
	length   int            // number of rows
	selected []bool         // by row: whether it matches the predicates of the columns read so far; nil without predicates
}

// column reads one column of a file.
type column interface {
	// path returns the column's name in the schema of the file.
	path() string
	// index returns the column's position in the file.
	index() int
	// excluded reports whether the statistics in chunk show that no row of the row group
	// matches the column's predicates.
	excluded(chunk *metadata.ColumnChunkMetaData) (bool, error)
	// filters reports whether the column has predicates.
	filters() bool
	// open starts to read the column in a row group. chunk is its column chunk.
	open(chunk file.ColumnChunkReader) error
	// fill reads the column in the next rows into a batch. It deselects rows that do not
	// match its predicates.
	fill(b *batch) error
	// skip skips the values of the next rows.
	skip(rows int)
}

// pageReader is implemented by arrow-go's column chunk reader for the physical type P. It
// has only the methods that typedColumn calls. Values that point to bytes are valid until
// the next call.
type pageReader[P any] interface {
	ReadBatchInPage(size int64, values []P, definitions, repetitions []int16) (levels int64, read int, err error)
	Skip(values int64) (int64, error)
}

// typedColumn is a column of the physical type P.
type typedColumn[P any] struct {
	descriptor  *schema.Column
	number      int   // position in the file
	definitions int16 // definition level of values that are not null
	field       *field
	set         *setter[P]  // nil if the column only has predicates
	steps       []step      // from a row to the field
	offset      uintptr     // of the field, added to the address after the steps
	kept        *byteCopies // copies of the batch's values; nil unless the field is a []byte

	tests []test[P]
	null  nullTest

	reader  pageReader[P]
	skipped int // number of rows to skip before the next read
	values  []P
	defs    []int16
	reps    []int16
	hits    []bool

	// For columns in lists: the index of the next level to use, the number of levels in
	// defs and reps, and the index of the next value to use.
	nextLevel, levels, nextValue int
}

func (c *typedColumn[P]) path() string  { return c.descriptor.Path() }
func (c *typedColumn[P]) index() int    { return c.number }
func (c *typedColumn[P]) filters() bool { return c.tests != nil || c.null != anyValue }
func (c *typedColumn[P]) skip(rows int) { c.skipped += rows }

func (c *typedColumn[P]) open(chunk file.ColumnChunkReader) error {
	reader, ok := chunk.(pageReader[P])
	if !ok {
		return fmt.Errorf("the row group has values of type %v", chunk.Type())
	}
	c.reader, c.skipped, c.nextLevel, c.levels = reader, 0, 0, 0
	if c.values == nil {
		c.values = make([]P, batchRows)
		if c.definitions > 0 {
			c.defs = make([]int16, batchRows)
		}
		if c.descriptor.MaxRepetitionLevel() > 0 {
			c.reps = make([]int16, batchRows)
		}
	}
	return nil
}

var errFewRows = errors.New("the column has fewer rows than the row group: the file is damaged")

// read reads up to size values and nulls, all of one page. levels is the number of values
// and nulls together, values the number of values that are not null.
func (c *typedColumn[P]) read(size int) (levels, values int, err error) {
	read, values, err := c.reader.ReadBatchInPage(int64(size), c.values, c.defs, c.reps)
	if err == nil && read == 0 {
		err = c.reader.(file.ColumnChunkReader).Err()
	}
	return int(read), values, err
}

func (c *typedColumn[P]) fill(b *batch) error {
	if c.kept != nil {
		c.kept.reset()
	}
	if c.reps != nil {
		return c.fillLists(b)
	}
	if c.skipped > 0 {
		skip := c.skipped
		c.skipped = 0
		if _, err := c.reader.Skip(int64(skip)); err != nil {
			return err
		}
	}
	for row := 0; row < b.length; {
		levels, values, err := c.read(min(b.length-row, batchRows))
		if err != nil {
			return err
		}
		if levels == 0 {
			return errFewRows
		}
		var selected []bool
		if b.selected != nil {
			selected = b.selected[row : row+levels]
		}
		if c.filters() {
			c.filter(levels, c.values[:values], selected)
		}
		if c.set != nil {
			at := unsafe.Add(b.rows, uintptr(row)*b.stride)
			if c.steps == nil && values == levels {
				c.set.setAll(unsafe.Add(at, c.offset), b.stride, c.values[:values], selected)
			} else if err := c.setEach(at, b.stride, levels, selected); err != nil {
				return err
			}
		}
		row += levels
	}
	return nil
}

// setEach stores the values of rows one by one. row is the address of the first row. fill
// uses setEach only if values may be null, or if steps lead from a row to the field.
func (c *typedColumn[P]) setEach(row unsafe.Pointer, stride uintptr, levels int, selected []bool) error {
	next := 0
	for i := range levels {
		def := c.definitions
		if c.defs != nil {
			def = c.defs[i]
		}
		if selected == nil || selected[i] {
			if err := c.setOne(unsafe.Add(row, uintptr(i)*stride), 0, def, next); err != nil {
				return err
			}
		}
		if def == c.definitions {
			next++
		}
	}
	return nil
}

// setOne stores the value with the levels rep and def in a row. The value is null or, if
// def is c.definitions, c.values[value].
func (c *typedColumn[P]) setOne(row unsafe.Pointer, rep, def int16, value int) error {
	at, err := addressOfValue(c.steps, row, rep, def)
	if err != nil || at == nil {
		return err
	}
	if def == c.definitions {
		c.set.setOne(unsafe.Add(at, c.offset), c.values[value])
	} else if c.kept == nil {
		return errNull // only a []byte field can be nil without a pointer
	}
	return nil
}

// fillLists is fill for a column in lists. A row can have any number of values in the
// column.
func (c *typedColumn[P]) fillLists(b *batch) error {
	before := -1 - c.skipped
	row := before // negative in skipped rows
	c.skipped = 0
	for {
		if c.nextLevel == c.levels {
			levels, _, err := c.read(batchRows)
			if err != nil {
				return err
			}
			if levels == 0 && row < b.length-1 {
				return errFewRows
			}
			if c.nextLevel, c.levels, c.nextValue = 0, levels, 0; levels == 0 {
				return nil
			}
		}
		rep, def := c.reps[c.nextLevel], c.defs[c.nextLevel]
		if rep == 0 {
			if row == b.length-1 {
				return nil // the next row is in the next batch
			}
			row++
		} else if row == before {
			return errLevels
		}
		if row >= 0 && (b.selected == nil || b.selected[row]) {
			if err := c.setOne(unsafe.Add(b.rows, uintptr(row)*b.stride), rep, def, c.nextValue); err != nil {
				return err
			}
		}
		c.nextLevel++
		if def == c.definitions {
			c.nextValue++
		}
	}
}
