package ui

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// pageRows is the maximum number of rows of a table on one page.
const pageRows = 100

// query is the query of a request. The links on a page are formed by changing some of its
// parameters.
type query struct{ values url.Values }

func (q query) get(key string) string { return q.values.Get(key) }

// with returns a link to the same page with some parameters changed. pairs are keys and values.
// An empty value removes a parameter. The parameter "since" is always removed, because only the
// script that updates the page uses it.
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

// to returns a link to a page with parameters. pairs are keys and values. A link contains only
// a query, because a web proxy may serve the pages at any path.
func to(page string, pairs ...string) string {
	return query{}.with(append([]string{"page", page}, pairs...)...)
}

// table is a table in the form that the template requires.
type table struct {
	Label          string
	Columns        []heading
	Rows           []row
	Empty          string // text instead of a table without rows
	Pager          string // the range of rows that is shown; "" if all rows are shown
	Previous, Next string // links to the previous and the next rows; "" if there are no such rows
}

type heading struct {
	Name, Hint string
	Number     bool   // whether the column has numbers, which are right-aligned
	Link       string // link that sorts the table by the column; "" if it cannot be sorted
	Sorted     string // "ascending", "descending" or ""
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
	Number     bool                // right-aligned, and sorted with the largest value first
	Wide       bool                // contains long text and gets more width
	Tight      bool                // cells are not broken into lines
	Compare    func(a, b T) int    // nil if the table cannot be sorted by the column
	Cells      func(item T) []cell // the column is omitted if the result is empty for all items
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

// tableOf returns a table of items. name must be unique in the page, because it is the prefix
// of the table's query parameters and of its rows' ids. empty is the text instead of a table
// without rows. The items are sorted as the query specifies, by default in the order of items.
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
	from, _ := strconv.Atoi(q.get(fromKey)) // 0 if the number is invalid
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

// only returns the elements of all for which used is true at the same index.
func only[E any](all []E, used []bool) []E {
	kept := make([]E, 0, len(all))
	for i, element := range all {
		if used[i] {
			kept = append(kept, element)
		}
	}
	return kept
}
