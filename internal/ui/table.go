package ui

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// pageRows is the number of rows of a table that one page shows at most.
const pageRows = 100

// query is the query of a request. The links of a page are made from it by changing some
// parameters.
type query struct{ values url.Values }

func (q query) get(key string) string { return q.values.Get(key) }

// with returns a link to the same page in which some parameters, given as keys and values, are
// changed. An empty value removes its parameter. So does with the parameter "since".
func (q query) with(pairs ...string) string {
	values := url.Values{}
	for key, value := range q.values {
		if key != "since" {
			values[key] = value
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			values.Del(pairs[i])
		}
	}
	return "?" + values.Encode()
}

// to returns a link to a page, with parameters given as keys and values. Links consist of a
// query only, because a web proxy may serve the pages below any path.
func to(page string, pairs ...string) string {
	return query{}.with(append([]string{"page", page}, pairs...)...)
}

// table is a table as the template shows it.
type table struct {
	Label          string
	Columns        []heading
	Rows           []row
	Empty          string // text that is shown instead if there are no rows
	Pager          string // which rows are shown; "" if all are
	Previous, Next string // links to the previous and the next rows; "" if there are none
}

type heading struct {
	Name, Hint string
	Number     bool
	Link       string // link that sorts the table by the column
	Sorted     string // ascending, descending or ""
}

type row struct {
	ID    string
	Cells []tableCell
}

type tableCell struct {
	Class string // "number", "wide", "tight" or ""
	Cells []cell
}

// column describes a column of a table of items of type T.
type column[T any] struct {
	Name, Hint string
	Number     bool                // aligned as numbers, and sorted with the largest first
	Wide       bool                // contains long text, which needs room
	Tight      bool                // its cells are not broken into lines
	Compare    func(a, b T) int    // nil if the table cannot be sorted by the column
	Cells      func(item T) []cell // if it is empty for all items, the column is left out
}

func (c *column[T]) class() string {
	switch {
	case c.Number:
		return "number"
	case c.Wide:
		return "wide"
	case c.Tight:
		return "tight"
	}
	return ""
}

// tableOf returns a table of items. name must be unique in the page, because the table's query
// parameters and the ids of its rows begin with it. empty is the text in place of a table
// without rows. The items are sorted as the query says; if it says nothing, they keep their
// order.
func tableOf[T any](q query, name, label, empty string, items []T, id func(T) string, columns []column[T]) *table {
	t := &table{Label: label, Empty: empty}
	sortKey, fromKey := name+".sort", name+".from"
	sorted := q.get(sortKey)
	for _, column := range columns {
		heading := heading{Name: column.Name, Hint: column.Hint, Number: column.Number}
		if column.Compare != nil {
			up := strings.ToLower(strings.ReplaceAll(column.Name, " ", "-"))
			down := "-" + up
			first, second := up, down
			if column.Number {
				first, second = down, up
			}
			heading.Link = q.with(sortKey, first, fromKey, "")
			switch sorted {
			case up, down:
				heading.Sorted = map[string]string{up: "ascending", down: "descending"}[sorted]
				if sorted == first {
					heading.Link = q.with(sortKey, second, fromKey, "")
				}
				items = slices.Clone(items)
				slices.SortStableFunc(items, func(a, b T) int {
					if sorted == down {
						a, b = b, a
					}
					return column.Compare(a, b)
				})
			}
		}
		t.Columns = append(t.Columns, heading)
	}

	all := len(items)
	from, _ := strconv.Atoi(q.get(fromKey)) // an invalid number is 0
	from = min(max(from, 0), max(all-1, 0))
	items = items[from:min(all, from+pageRows)]
	if len(items) < all {
		t.Pager = fmt.Sprintf("%s–%s of %s", count(from+1), count(from+len(items)), count(all))
		if from > 0 {
			t.Previous = q.with(fromKey, strconv.Itoa(max(0, from-pageRows)))
		}
		if from+len(items) < all {
			t.Next = q.with(fromKey, strconv.Itoa(from+pageRows))
		}
	}

	used := make([]bool, len(columns))
	for _, item := range items {
		row := row{ID: name + "-" + strings.Join(strings.Fields(id(item)), "_")}
		for i, column := range columns {
			cells := column.Cells(item)
			used[i] = used[i] || slices.ContainsFunc(cells, func(c cell) bool { return c.Text != "" })
			row.Cells = append(row.Cells, tableCell{Class: column.class(), Cells: cells})
		}
		t.Rows = append(t.Rows, row)
	}
	t.Columns = only(t.Columns, used)
	for i := range t.Rows {
		t.Rows[i].Cells = only(t.Rows[i].Cells, used)
	}
	return t
}

// only returns the elements whose index is used.
func only[E any](all []E, used []bool) []E {
	kept := make([]E, 0, len(all))
	for i, element := range all {
		if used[i] {
			kept = append(kept, element)
		}
	}
	return kept
}
