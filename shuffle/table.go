package shuffle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"reflect"
	"slices"
	"unsafe"
)

// Table is a hash table from keys, which are byte slices, to values of type V. It is designed
// for aggregation: single entries cannot be removed, and [Table.Bytes] returns the memory that
// the table uses. Only one goroutine may use a Table, except that several may call
// [Table.Find] at the same time.
type Table[V any] struct {
	slots      []uint64 // tag<<32 | place+1 of an entry; 0 if unused. len(slots) is a power of two
	mask       uint64
	limit      int // largest number of entries for the current number of slots
	numEntries int
	sorted     bool

	entries    slabs
	ends       []int // where the entries of each slab end
	inline     bool  // whether an entry contains its value itself, instead of an index in values
	hashOffset int   // offset in bytes of the hash in an entry
	values     []*[valueChunk]V
	touched    byte // written so that the compiler does not remove reads whose purpose is to fill caches
}

// An entry has these parts: the value if V has no pointers, otherwise the value's index in
// values; the lower half of the hash, which determines the slot; the key's length (a uvarint);
// the key. The upper half of the hash is in the slot, as its tag. So most lookups read two
// cache lines, one for the slot and one for the entry. Entries begin at multiples of
// entryAlign bytes. The place of an entry, which its slot contains, is the entry's offset from
// the beginning of the first slab in units of entryAlign bytes, computed as if each slab had
// slabSize bytes.
const (
	entryAlign = 8
	slabPlaces = slabSize / entryAlign
	lowBytes   = 4

	minSlots   = 1 << 10
	prefetched = 32 // entries that are read into the processor's caches at a time
	valueChunk = 1 << 8
)

// NewTable returns an empty Table.
func NewTable[V any]() *Table[V] {
	t := &Table[V]{inline: hasNoPointers(reflect.TypeFor[V]()), hashOffset: entryAlign}
	if t.inline {
		t.hashOffset = align(int(unsafe.Sizeof(*new(V))))
	}
	t.setSlots(make([]uint64, minSlots))
	return t
}

// hasNoPointers reports whether values of a type contain no pointers. Such values can be
// stored in memory that the garbage collector does not scan.
func hasNoPointers(t reflect.Type) bool {
	switch kind := t.Kind(); kind {
	case reflect.Array:
		return hasNoPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !hasNoPointers(t.Field(i).Type) {
				return false
			}
		}
		return true
	default:
		return kind >= reflect.Bool && kind <= reflect.Complex128
	}
}

func align(n int) int { return (n + entryAlign - 1) &^ (entryAlign - 1) }

func (t *Table[V]) setSlots(slots []uint64) {
	t.slots, t.mask, t.limit = slots, uint64(len(slots)-1), len(slots)/4*3
}

// Len returns the number of entries.
func (t *Table[V]) Len() int { return t.numEntries }

// Bytes returns how many bytes of memory the table will use after one more entry with a small
// key is inserted. This includes the additional slots that exist while the table grows, but
// not memory to which values refer.
func (t *Table[V]) Bytes() int64 {
	n := t.entries.bytes + t.entries.grow(t.hashOffset+64) + 8*int64(len(t.slots))
	if !t.inline {
		n += int64(t.numEntries/valueChunk+1) * valueChunk * int64(unsafe.Sizeof(*new(V)))
	}
	if t.numEntries == t.limit {
		n += 16 * int64(len(t.slots))
	}
	return n
}

// Upsert returns the value of a key. If the key is not in the table, Upsert inserts it with
// V's zero value. hash is the key's hash. The pointer is valid until the next Upsert or
// Reset.
func (t *Table[V]) Upsert(hash uint64, key []byte) (value *V, inserted bool) {
	value, at := t.lookup(hash, key)
	if value == nil {
		return t.insert(at, hash, key), true
	}
	return value, false
}

// Find returns the value of a key, or nil if the key is not in the table. Several goroutines
// may call Find at the same time if none calls another method. After SortedByHash, Find must
// not be called before Reset.
func (t *Table[V]) Find(hash uint64, key []byte) *V {
	value, _ := t.lookup(hash, key)
	return value
}

// lookup returns the value of a key, or nil and the slot for a new entry.
func (t *Table[V]) lookup(hash uint64, key []byte) (value *V, free uint64) {
	tag := hash >> 32
	for at := hash & t.mask; ; at = (at + 1) & t.mask {
		slot := t.slots[at]
		if slot == 0 {
			return nil, at
		}
		if slot>>32 == tag {
			entry := t.entry(slot)
			if hashed := entry[t.hashOffset:]; binary.LittleEndian.Uint32(hashed) == uint32(hash) && hasKey(hashed[lowBytes:], key) {
				return t.value(entry), at
			}
		}
	}
}

// Prefetch reads the slots and entries that Upsert will need for keys with these hashes, so
// that the processor loads several of them at a time. If the table is larger than the
// processor's caches, calls of Upsert are faster if Prefetch is first called for a few dozen
// of their keys.
func (t *Table[V]) Prefetch(hashes []uint64) {
	for len(hashes) > 0 {
		var slots [prefetched]uint64
		n := min(len(hashes), len(slots))
		for i, hash := range hashes[:n] {
			slots[i] = t.slots[hash&t.mask]
		}
		for i, slot := range slots[:n] {
			if slot != 0 && slot>>32 == hashes[i]>>32 {
				t.touched += t.entry(slot)[0]
			}
		}
		hashes = hashes[n:]
	}
}

// hasKey reports whether p begins with key, preceded by key's encoded length.
func hasKey(p, key []byte) bool {
	if n := len(key); n < 0x80 {
		return int(p[0]) == n && string(p[1:1+n]) == string(key)
	}
	found, _ := cutField(p)
	return bytes.Equal(found, key)
}

// entry returns the bytes of a slab from the beginning of an entry to the end of the slab.
// slot is the entry's slot.
func (t *Table[V]) entry(slot uint64) []byte {
	place := uint32(slot) - 1
	return t.entries.list[place/slabPlaces][place%slabPlaces*entryAlign:]
}

func (t *Table[V]) value(entry []byte) *V {
	at := unsafe.Pointer(unsafe.SliceData(entry)) // aligned, as slabs and entries are
	if t.inline {
		return (*V)(at)
	}
	i := *(*uint64)(at)
	return &t.values[i/valueChunk][i%valueChunk]
}

func (t *Table[V]) low(slot uint64) uint32 {
	return binary.LittleEndian.Uint32(t.entry(slot)[t.hashOffset:])
}

// insert adds an entry and returns its value. It stores the entry in t.slots[at], unless it first
// doubles the slots, which moves entries to other slots.
func (t *Table[V]) insert(at, hash uint64, key []byte) *V {
	if t.sorted {
		panic("shuffle: Upsert after SortedByHash without Reset")
	}
	if t.numEntries == t.limit {
		t.grow()
		for at = hash & t.mask; t.slots[at] != 0; {
			at = (at + 1) & t.mask
		}
	}
	size := align(t.hashOffset + lowBytes + uvarintSize(len(key)) + len(key))
	position, entry := t.entries.alloc(size)
	slab := position.slab()
	if slab >= 1<<32/slabPlaces-1 {
		panic("shuffle: a Table is too large")
	}
	if slab == len(t.ends) {
		t.ends = append(t.ends, 0)
	}
	t.ends[slab] = position.offset() + size
	clear(entry[:t.hashOffset])
	binary.LittleEndian.PutUint32(entry[t.hashOffset:], uint32(hash))
	keyed := entry[t.hashOffset+lowBytes:]
	copy(keyed[binary.PutUvarint(keyed, uint64(len(key))):], key)
	if !t.inline {
		if t.numEntries/valueChunk == len(t.values) {
			t.values = append(t.values, new([valueChunk]V))
		}
		*(*uint64)(unsafe.Pointer(unsafe.SliceData(entry))) = uint64(t.numEntries)
	}
	t.slots[at] = hash>>32<<32 | uint64(slab*slabPlaces+position.offset()/entryAlign+1)
	t.numEntries++
	return t.value(entry)
}

// grow doubles the slots. The entries themselves do not move in memory.
func (t *Table[V]) grow() {
	old := t.slots
	t.setSlots(make([]uint64, 2*len(old)))
	for _, slot := range old {
		if slot == 0 {
			continue
		}
		at := uint64(t.low(slot)) & t.mask
		for t.slots[at] != 0 {
			at = (at + 1) & t.mask
		}
		t.slots[at] = slot
	}
}

// All yields the keys and values, in the order of their insertion. They are valid until the
// next Reset. The caller may change the values.
func (t *Table[V]) All() iter.Seq2[[]byte, *V] {
	return func(yield func([]byte, *V) bool) {
		for i, end := range t.ends {
			for entries := t.entries.list[i][:end]; len(entries) > 0; {
				key, _ := cutField(entries[t.hashOffset+lowBytes:])
				if !yield(key, t.value(entries)) {
					return
				}
				entries = entries[align(t.hashOffset+lowBytes+uvarintSize(len(key))+len(key)):]
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

// SortedByHash yields the entries in the order of their hashes. They are valid until Reset,
// which must be called before the next Upsert, because sorting overwrites the hash table.
func (t *Table[V]) SortedByHash() iter.Seq[Entry[V]] {
	return func(yield func(Entry[V]) bool) {
		t.sort()
		for i, slot := range t.slots[:t.numEntries] {
			if i%prefetched == 0 {
				for _, next := range t.slots[i:min(i+prefetched, t.numEntries)] {
					t.touched += t.entry(next)[t.hashOffset]
				}
			}
			entry := t.entry(slot)
			key, _ := cutField(entry[t.hashOffset+lowBytes:])
			if !yield(Entry[V]{slot>>32<<32 | uint64(t.low(slot)), key, t.value(entry)}) {
				return
			}
		}
	}
}

// sort moves the used slots to the beginning and sorts them by their entries' hashes.
// Afterwards lookups do not work until Reset.
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
	clear(t.slots[t.numEntries:])
	sortUint64(used, 56)
	for i := 0; i < len(used); { // sort slots with equal tags by the lower half of the hash
		end := i + 1
		for end < len(used) && used[end]>>32 == used[i]>>32 {
			end++
		}
		if end > i+1 {
			slices.SortFunc(used[i:end], func(a, b uint64) int { return cmp.Compare(t.low(a), t.low(b)) })
		}
		i = end
	}
}

// sortUint64 sorts numbers that differ only in the lowest shift+8 bits. It distributes them
// in place into 256 buckets by eight bits, the lowest of which has the number shift, and then
// sorts each bucket.
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

// Reset removes all entries. The memory of the slots and values is reused.
func (t *Table[V]) Reset() {
	clear(t.slots)
	for _, chunk := range t.values {
		clear(chunk[:])
	}
	t.entries.free()
	t.numEntries, t.ends, t.sorted = 0, t.ends[:0], false
}

// Release frees the memory of the table. The table is then empty and can be used again.
func (t *Table[V]) Release() {
	t.entries.free()
	t.values, t.ends, t.numEntries, t.sorted = nil, nil, 0, false
	t.setSlots(make([]uint64, minSlots))
}
