package limit

import "bytes"

// table maps keys to numbers. It is a hash table with linear probing; the keys' bytes
// are elsewhere in memory.
type table struct {
	keys  []byte
	slots []slot // a power of two
	used  int
}

// slot is the entry of a key.
type slot struct {
	hash  uint64 // 0 in a free slot
	key   line
	value uint64
}

// newTable returns a table of keys that are lines of keys, or parts of them.
func newTable(keys []byte) *table { return &table{keys: keys, slots: make([]slot, 1<<10)} }

// find returns the slot of a key. If the key has none, find reserves one if add is set,
// otherwise it returns nil. The slot is valid until the next call.
func (t *table) find(hash uint64, key line, in []byte, add bool) *slot {
	if add && t.used >= len(t.slots)/2 {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash >> 1 & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		switch {
		case s.hash == 0 && !add:
			return nil
		case s.hash == 0:
			t.used++
			s.hash, s.key = hash, key
			return s
		case s.hash == hash && bytes.Equal(s.key.of(t.keys), key.of(in)):
			return s
		}
	}
}

// first returns the key that find compares first with a key with this hash, or an empty
// one.
func (t *table) first(hash uint64) line { return t.slots[hash>>1&uint64(len(t.slots)-1)].key }

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	mask := uint64(len(t.slots) - 1)
	for _, s := range old {
		if s.hash == 0 {
			continue
		}
		i := s.hash >> 1 & mask
		for t.slots[i].hash != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = s
	}
}
