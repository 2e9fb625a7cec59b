package shuffle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"unsafe"
)

// Table is a hash table from keys, which are bytes, to values of type V. It is made for
// aggregation: entries cannot be removed, and its memory is known. It is for one
// goroutine.
type Table[V any] struct {
	slots  []uint64 // tag<<32 | index+1 of the cell; 0 if unused. Their number is a power of two
	mask   uint64
	limit  int // largest number of entries before the slots are doubled
	sorted bool

	cells []*[cellChunk]cell[V]
	n     int // number of entries
	keys  slabs
}

// cell is an entry. The tag in its slot is the upper half of its hash. The lower half
// gives its place.
type cell[V any] struct {
	low   uint32 // lower half of the hash
	key   uint32 // position of the key, in words of the slabs
	value V
}

const (
	minSlots  = 1 << 10
	cellChunk = 1 << 10

	// A slab has keyWords words of four bytes. A key begins at a word: its length (a
	// uvarint), then its bytes.
	wordBytes = 4
	keyWords  = slabSize / wordBytes
)

// NewTable returns an empty Table.
func NewTable[V any]() *Table[V] {
	t := &Table[V]{}
	t.setSlots(make([]uint64, minSlots))
	return t
}

func (t *Table[V]) setSlots(slots []uint64) {
	t.slots, t.mask, t.limit = slots, uint64(len(slots)-1), len(slots)/4*3
}

// Len returns the number of entries.
func (t *Table[V]) Len() int { return t.n }

// Bytes returns the memory of the table, in bytes, after one more entry with a small key.
// Memory to which values refer is not included.
func (t *Table[V]) Bytes() int64 {
	n := int64(t.n/cellChunk+1)*cellChunk*int64(unsafe.Sizeof(cell[V]{})) + t.keys.bytes + t.keys.grow(64) + 8*int64(len(t.slots))
	if t.n == t.limit {
		n += 16 * int64(len(t.slots))
	}
	return n
}

// Upsert returns the value of a key, which it inserts with V's zero value if it is new.
// hash is the key's hash. The pointer is valid until the next Upsert or Reset.
func (t *Table[V]) Upsert(hash uint64, key []byte) (value *V, inserted bool) {
	tag := hash >> 32
	for at := hash & t.mask; ; at = (at + 1) & t.mask {
		slot := t.slots[at]
		if slot == 0 {
			return t.insert(at, hash, key), true
		}
		if slot>>32 == tag {
			c := t.cell(uint32(slot) - 1)
			if c.low == uint32(hash) && t.hasKey(c, key) {
				return &c.value, false
			}
		}
	}
}

func (t *Table[V]) cell(i uint32) *cell[V] { return &t.cells[i/cellChunk][i%cellChunk] }

func (t *Table[V]) hasKey(c *cell[V], key []byte) bool {
	slab := t.keys.list[c.key/keyWords]
	p := slab[c.key%keyWords*wordBytes:]
	if n := len(key); n < 0x80 {
		return int(p[0]) == n && string(p[1:1+n]) == string(key)
	}
	return bytes.Equal(t.keyAt(c.key), key)
}

// keyAt returns the key at a position.
func (t *Table[V]) keyAt(position uint32) []byte {
	p := t.keys.list[position/keyWords][position%keyWords*wordBytes:]
	key, _ := cutField(p)
	return key
}

// insert adds an entry whose slot, if the slots are not doubled, is at.
func (t *Table[V]) insert(at, hash uint64, key []byte) *V {
	if t.sorted {
		panic("shuffle: Upsert after SortedByHash without Reset")
	}
	if t.n == t.limit {
		t.double()
		for at = hash & t.mask; t.slots[at] != 0; {
			at = (at + 1) & t.mask
		}
	}
	i := t.n
	if i/cellChunk == len(t.cells) {
		t.cells = append(t.cells, new([cellChunk]cell[V]))
	}
	size := uvarintSize(len(key)) + len(key)
	position, p := t.keys.alloc((size + wordBytes - 1) / wordBytes * wordBytes)
	if position.slab() >= 1<<32/keyWords || i == 1<<32-1 {
		panic("shuffle: a Table is too large")
	}
	copy(p[binary.PutUvarint(p, uint64(len(key))):], key)
	t.n++
	t.slots[at] = hash>>32<<32 | uint64(t.n)
	c := t.cell(uint32(i))
	c.low, c.key = uint32(hash), uint32(position.slab()*keyWords+position.offset()/wordBytes)
	return &c.value
}

// double doubles the slots. Cells and keys stay where they are.
func (t *Table[V]) double() {
	old := t.slots
	t.setSlots(make([]uint64, 2*len(old)))
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := uint64(t.cell(uint32(slot)-1).low) & t.mask
		for t.slots[at] != 0 {
			at = (at + 1) & t.mask
		}
		t.slots[at] = slot
	}
}

// All yields the keys and values, in the order of their insertion. They are valid until
// the next Reset, and values may be changed.
func (t *Table[V]) All() iter.Seq2[[]byte, *V] {
	return func(yield func([]byte, *V) bool) {
		for i := range t.n {
			c := t.cell(uint32(i))
			if !yield(t.keyAt(c.key), &c.value) {
				return
			}
		}
	}
}

// Entry is an entry of a Table.
type Entry[V any] struct {
	Hash  uint64
	Key   []byte
	Value *V
}

// SortedByHash yields the entries in the order of their hashes. It sorts in the memory
// of the table: after it, Upsert may be called only after Reset. The entries are valid
// until then.
func (t *Table[V]) SortedByHash() iter.Seq[Entry[V]] {
	return func(yield func(Entry[V]) bool) {
		t.sort()
		for _, slot := range t.slots[:t.n] {
			c := t.cell(uint32(slot) - 1)
			if !yield(Entry[V]{slot>>32<<32 | uint64(c.low), t.keyAt(c.key), &c.value}) {
				return
			}
		}
	}
}

// sort moves the used slots to the beginning and sorts them by their cells' hashes.
func (t *Table[V]) sort() {
	if t.sorted {
		return
	}
	t.sorted = true
	used := t.slots[:0]
	for _, slot := range t.slots {
		if slot != 0 {
			used = append(used, slot)
		}
	}
	clear(t.slots[t.n:])
	sortUint64(used, 56)
	for i := 0; i < len(used); { // equal tags are in the order of their cells
		end := i + 1
		for end < len(used) && used[end]>>32 == used[i]>>32 {
			end++
		}
		if end > i+1 {
			slices.SortFunc(used[i:end], func(a, b uint64) int { return cmp.Compare(t.cell(uint32(a)-1).low, t.cell(uint32(b)-1).low) })
		}
		i = end
	}
}

// sortUint64 sorts numbers that are equal above shift+8 bits: by the byte at shift into
// 256 buckets in place, then each bucket.
func sortUint64(numbers []uint64, shift int) {
	if len(numbers) < 512 || shift < 0 {
		slices.Sort(numbers)
		return
	}
	var next, end [256]int
	for _, n := range numbers {
		end[byte(n>>shift)]++
	}
	sum := 0
	for b, count := range end {
		next[b] = sum
		sum += count
		end[b] = sum
	}
	for b := range next {
		for next[b] < end[b] {
			n := numbers[next[b]]
			for to := byte(n >> shift); int(to) != b; to = byte(n >> shift) {
				n, numbers[next[to]] = numbers[next[to]], n
				next[to]++
			}
			numbers[next[b]] = n
			next[b]++
		}
	}
	begin := 0
	for _, stop := range end {
		sortUint64(numbers[begin:stop], shift-8)
		begin = stop
	}
}

// Reset removes all entries. The table keeps memory for as many.
func (t *Table[V]) Reset() {
	clear(t.slots)
	for _, chunk := range t.cells[:(t.n+cellChunk-1)/cellChunk] {
		clear(chunk[:])
	}
	t.keys.free()
	t.n, t.sorted = 0, false
}

// Release frees the memory of an unused table. It is then empty, as after Reset.
func (t *Table[V]) Release() {
	t.keys.free()
	t.cells, t.n, t.sorted = nil, 0, false
	t.setSlots(make([]uint64, minSlots))
}
