// Package idtable keeps what is known by ids that count up.
package idtable

import (
	"iter"
	"math/bits"
)

// pageSize is how many ids one page is for, as many as a word has bits at the most. A
// page lasts as long as one of its values does, so that a few that last long keep so
// many times their own memory.
const pageSize = 32

// mostSpare is about how many values the empty pages have room for that are kept.
const mostSpare = 1 << 16

// Table holds values and finds them by their ids. Those that got their ids one after
// the other lie side by side, so whoever goes through a batch of them stays in the
// same memory: for a million tasks, where each would lie by itself that costs more
// than anything else that is done with one. The zero Table is empty. It is not safe
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
	values [pageSize]V
	there  uint32 // a bit for each value that there is
}

// Len is how many values there are.
func (t *Table[ID, V]) Len() int { return t.length }

// Get returns the value of an id, nil where there is none.
func (t *Table[ID, V]) Get(id ID) *V {
	p := t.page(id / pageSize)
	if p == nil || p.there&bit(id) == 0 {
		return nil
	}
	return &p.values[id%pageSize]
}

// Add returns a zero value for an id that has none.
func (t *Table[ID, V]) Add(id ID) *V {
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
	p.there |= bit(id)
	t.length++
	return &p.values[id%pageSize]
}

// Delete forgets the value of an id, if it has one. Nobody may look at the value any
// more: it becomes another's.
func (t *Table[ID, V]) Delete(id ID) {
	number := id / pageSize
	p := t.page(number)
	if p == nil || p.there&bit(id) == 0 {
		return
	}
	var none V
	p.values[id%pageSize] = none
	p.there &^= bit(id)
	t.length--
	if p.there != 0 {
		return
	}
	delete(t.pages, number)
	t.latest = nil
	if len(t.spare) < mostSpare/pageSize {
		t.spare = append(t.spare, p)
	}
}

// All yields the values in no certain order. The table must not change
// meanwhile.
func (t *Table[ID, V]) All() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for _, p := range t.pages {
			for there := p.there; there != 0; there &= there - 1 {
				if !yield(&p.values[bits.TrailingZeros32(there)]) {
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

func bit[ID ~uint64](id ID) uint32 { return 1 << (id % pageSize) }
