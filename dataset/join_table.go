package dataset

import (
	"github.com/bobbin-yarn/bobbin/internal/record"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

// joinTable stores the small side of a broadcast join: values by key. One goroutine adds
// all values and calls finish; then several goroutines may call find at the same time.
//
// It is not a map of slices, because a map would have several objects for each key, all of
// which the garbage collector would visit. Lookups spend most of their time in cache
// misses. A lookup has one cache miss if the table does not have the key, and three if it
// does.
type joinTable[W any] struct {
	keys   *shuffle.Table[joinValues]
	values []W
	// before has, for each value, the index plus one of the previous value with the same
	// key, or 0 if there is none. It is nil after finish.
	before []int
}

// joinValues locates the values of a key; count is their number. Before finish, the value
// added last has the index end-1, and joinTable.before leads to the earlier values. After
// finish, the values have the indexes from end-count to end-1.
type joinValues struct{ end, count int }

func newJoinTable[W any]() *joinTable[W] { return &joinTable[W]{keys: shuffle.NewTable[joinValues]()} }

// add adds a value of a key. It copies the key.
func (t *joinTable[W]) add(key []byte, value W) {
	of, _ := t.keys.Upsert(record.Hash(key), key)
	t.values = append(t.values, value)
	t.before = append(t.before, of.end)
	of.end = len(t.values)
	of.count++
}

// finish puts the values of each key next to each other, in the order in which they were
// added.
func (t *joinTable[W]) finish() {
	if t.keys.Len() < len(t.values) {
		grouped := make([]W, len(t.values))
		end := 0
		for _, of := range t.keys.All() {
			end += of.count
			for at, to := of.end, end-1; at > 0; at, to = t.before[at-1], to-1 {
				grouped[to] = t.values[at-1]
			}
			of.end = end
		}
		t.values = grouped
	}
	t.before = nil
}

// find returns the values of a key.
func (t *joinTable[W]) find(key []byte) []W {
	of := t.keys.Find(record.Hash(key), key)
	if of == nil {
		return nil
	}
	return t.values[of.end-of.count : of.end]
}
