// Package idtable keeps what is known by ids that count up.
package idtable

import "iter"

// pageSize is how many ids one page is for. A page that has a single value left
// takes 8 bytes for each.
const pageSize = 128

// mostSpare is how many empty pages are kept, which take a kilobyte each.
const mostSpare = 1 << 10

// Table finds values by their ids. Those that got their ids one after the other
// lie side by side, so whoever goes through a batch of them stays in the same
// memory; a map would scatter them, which for a million tasks costs more than
// anything else that is done with one. The zero Table is empty. It is not safe
// for concurrent use.
type Table[ID ~uint64, V any] struct {
	pages map[ID]*page[V] // by id / pageSize
	// latest is the page that was looked at last, of the number latestNumber.
	latest       *page[V]
	latestNumber ID
	spare        []*page[V] // empty ones, to be used again
	length       int
}

type page[V any] struct {
	values [pageSize]*V
	used   int
}

// Len is how many values there are.
func (t *Table[ID, V]) Len() int { return t.length }

// Get returns the value of an id, nil where there is none.
func (t *Table[ID, V]) Get(id ID) *V {
	p := t.page(id / pageSize)
	if p == nil {
		return nil
	}
	return p.values[id%pageSize]
}

// Put gives an id a value, which must not be nil, in place of the one it may
// have had.
func (t *Table[ID, V]) Put(id ID, value *V) {
	number := id / pageSize
	p := t.page(number)
	if p == nil {
		if last := len(t.spare) - 1; last >= 0 {
			p, t.spare = t.spare[last], t.spare[:last]
		} else {
			p = new(page[V])
		}
		if t.pages == nil {
			t.pages = make(map[ID]*page[V])
		}
		t.pages[number] = p
		t.latest, t.latestNumber = p, number
	}
	if p.values[id%pageSize] == nil {
		p.used++
		t.length++
	}
	p.values[id%pageSize] = value
}

// Delete forgets the value of an id, if it has one.
func (t *Table[ID, V]) Delete(id ID) {
	number := id / pageSize
	p := t.page(number)
	if p == nil || p.values[id%pageSize] == nil {
		return
	}
	p.values[id%pageSize] = nil
	p.used--
	t.length--
	if p.used == 0 {
		delete(t.pages, number)
		t.latest = nil
		if len(t.spare) < mostSpare {
			t.spare = append(t.spare, p)
		}
	}
}

// All yields the values in no certain order. The table must not change
// meanwhile.
func (t *Table[ID, V]) All() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for _, p := range t.pages {
			for _, value := range p.values {
				if value != nil && !yield(value) {
					return
				}
			}
		}
	}
}

func (t *Table[ID, V]) page(number ID) *page[V] {
	if t.latest != nil && t.latestNumber == number {
		return t.latest
	}
	p := t.pages[number]
	if p != nil {
		t.latest, t.latestNumber = p, number
	}
	return p
}
