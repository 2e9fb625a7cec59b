package limit

import "bytes"

// table maps keys to numbers. It is a hash table with linear probing. It does not copy the
// keys' bytes.
type table struct {
	keys  []byte
	slots []slot // the length is a power of two
	used  int
}

// slot contains a key and its number.
type slot struct {
	hash  uint64 // 0 means that the slot is free
	key   line
	value uint64
}

// newTable returns a table. keys is the text that contains the table's keys, which are lines or
// parts of lines.
func newTable(keys []byte) *table { return &table{keys: keys, slots: make([]slot, 1<<10)} }

// find returns the slot of a key. in is the text that contains the key. If the table does not
// contain the key, find adds the key if add is true, and otherwise returns nil. The slot is
// valid until the next call of find.
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

// first returns the key in the slot that find checks first for this hash, or an empty line if
// the slot is free.
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
