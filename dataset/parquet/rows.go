package parquet

import (
	"context"
	"fmt"
	"slices"
	"unsafe"
)

// batchRows is the largest number of rows in a batch, and the largest number of values that
// are decoded at a time.
const batchRows = 1024

// readRows calls emit with each row of a split, until emit returns false.
func readRows[T any](r *splitReader, row *field, emit func(T) bool) error {
	var rows []T
	newRows := func(n int) unsafe.Pointer {
		if len(rows) < n {
			rows = make([]T, n)
		}
		clear(rows[:n])
		return unsafe.Pointer(unsafe.SliceData(rows))
	}
	var zero T
	if err := r.open(); err != nil {
		return err
	}
	defer r.close()
	return r.batches(row, unsafe.Sizeof(zero), newRows, func(i int) bool { return emit(rows[i]) })
}

// batches reads the rows of an open split in batches. For each batch, it calls newRows,
// which must return zeroed memory for n rows of size bytes each, and stores the rows there.
// Then it calls emit with the index of each row that matches the predicates, until emit
// returns false.
func (r *splitReader) batches(row *field, size uintptr, newRows func(n int) unsafe.Pointer, emit func(i int) bool) error {
	columns, err := bind(r.file.MetaData().Schema, row, r.predicates)
	if err != nil {
		return r.malformed(err)
	}
	numbers, err := r.groups()
	if err != nil {
		return err
	}
	b := batch{stride: size}
	if r.predicates != nil {
		b.selected = make([]bool, batchRows)
	}
	finish := finisher(row)
	for _, number := range numbers {
		group, err := r.group(number, columns)
		if err != nil {
			return err
		}
		for group != nil && group.left > 0 {
			if r.ctx.Err() != nil {
				return context.Cause(r.ctx)
			}
			b.length = int(min(group.left, int64(group.batch)))
			b.rows = newRows(b.length)
			if b.selected != nil {
				b.selected = b.selected[:b.length]
				for i := range b.selected {
					b.selected[i] = true
				}
			}
			if err := group.fill(&b); err != nil {
				return err
			}
			for i := range b.length {
				if b.selected != nil && !b.selected[i] {
					continue
				}
				if finish != nil {
					finish(unsafe.Add(b.rows, uintptr(i)*size))
				}
				if !emit(i) {
					return nil
				}
			}
		}
	}
	return nil
}

// fill reads the next rows of the group into a batch. If the columns with predicates
// deselect all rows, it skips the other columns.
func (g *rowGroup) fill(b *batch) error {
	skip := false
	for i, c := range g.columns {
		if skip {
			c.skip(b.length)
			continue
		}
		err := recoverPanic(damagedMessage, func() error { return c.fill(b) })
		if err != nil {
			return g.reader.wrapError(fmt.Errorf("row group %d, column %q, rows from %d on: %w", g.number, c.path(), g.rows-g.left, err))
		}
		lastFilter := c.filters() && (i+1 == len(g.columns) || !g.columns[i+1].filters())
		skip = lastFilter && !slices.Contains(b.selected, true)
	}
	g.left -= int64(b.length)
	return nil
}
