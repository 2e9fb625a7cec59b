package shuffle

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// fewItems is the largest number of items for which insertion sort is faster than radix
// sort.
const fewItems = 48

// sort sets s.sorted to the items in order, unless s.sorted is already set. It copies the
// items from their chunks into 256 parts: the part is selected by eight bits of the prefix,
// which begin with the highest bit that is not the same in all prefixes. Then it sorts each
// part.
func (s *Sorter) sort() {
	if s.sorted != nil || s.n == 0 {
		return
	}
	first, differ := s.items[0][0].prefix, uint64(0)
	for i := range s.n {
		differ |= s.items[i/itemChunk][i%itemChunk].prefix ^ first
	}
	shift := max(bits.Len64(differ)-8, 0)
	var next [256]int
	for i := range s.n {
		next[byte(s.items[i/itemChunk][i%itemChunk].prefix>>shift)]++
	}
	begin := 0
	for b, count := range next {
		next[b] = begin
		begin += count
	}
	s.sorted = make([]item, s.n)
	for i := range s.n {
		it := s.items[i/itemChunk][i%itemChunk]
		b := byte(it.prefix >> shift)
		s.sorted[next[b]] = it
		next[b]++
	}
	s.items = nil
	begin = 0
	for _, end := range next {
		s.sortPrefixes(s.sorted[begin:end], shift, 0)
		begin = end
	}
}

// sortPrefixes sorts items by prefix and key. The prefixes must be equal except in their lowest
// bits; shift is the number of these bits. If depth is positive, each prefix consists of the
// eight bytes of the key that end before index depth.
func (s *Sorter) sortPrefixes(items []item, shift, depth int) {
	if len(items) <= 1 {
		return
	}
	if shift == 0 {
		s.sortKeys(items, depth)
		return
	}
	if len(items) <= fewItems {
		s.sortFew(items, depth)
		return
	}
	shift = max(shift-8, 0)
	var next, end [256]int
	for i := range items {
		end[byte(items[i].prefix>>shift)]++
	}
	sum := 0
	for b, count := range end {
		next[b] = sum
		sum += count
		end[b] = sum
	}
	for b := range next {
		for next[b] < end[b] {
			it := items[next[b]]
			for to := byte(it.prefix >> shift); int(to) != b; to = byte(it.prefix >> shift) {
				it, items[next[to]] = items[next[to]], it
				next[to]++
			}
			items[next[b]] = it
			next[b]++
		}
	}
	begin := 0
	for _, stop := range end {
		s.sortPrefixes(items[begin:stop], shift, depth)
		begin = stop
	}
}

// sortFew sorts like sortPrefixes, with an insertion sort by prefix.
func (s *Sorter) sortFew(items []item, depth int) {
	for i := 1; i < len(items); i++ {
		it, at := items[i], i
		for ; at > 0 && items[at-1].prefix > it.prefix; at-- {
			items[at] = items[at-1]
		}
		items[at] = it
	}
	for begin := 0; begin < len(items); {
		end := begin + 1
		for end < len(items) && items[end].prefix == items[begin].prefix {
			end++
		}
		s.sortKeys(items[begin:end], depth)
		begin = end
	}
}

func (s *Sorter) key(it *item) []byte {
	key, _ := cutField(s.slabs.from(it.at))
	return key
}

// sortKeys sorts items by key. The items must have the same prefix, and their keys must be equal
// before index depth. A key that is shorter than depth counts as if zeros followed it. During
// the sort, sortKeys replaces each prefix by the eight bytes of the key that follow the common
// beginning of all keys.
func (s *Sorter) sortKeys(items []item, depth int) {
	switch len(items) {
	case 1:
		return
	case 2:
		if bytes.Compare(s.key(&items[0]), s.key(&items[1])) > 0 {
			items[0], items[1] = items[1], items[0]
		}
		return
	}
	prefix := items[0].prefix
	first, longest := s.key(&items[0]), 0
	common := len(first)
	for i := range items {
		key := s.key(&items[i])
		longest = max(longest, len(key))
		common = commonLength(first[:common], key, min(depth, common))
	}
	depth = max(depth, common)
	if longest <= depth { // the keys differ only in the number of zeros at their ends
		slices.SortFunc(items, func(a, b item) int { return cmp.Compare(len(s.key(&a)), len(s.key(&b))) })
		return
	}
	differ := uint64(0)
	for i := range items {
		items[i].prefix = eightBytes(s.key(&items[i]), depth)
		differ |= items[i].prefix ^ items[0].prefix
	}
	s.sortPrefixes(items, (bits.Len64(differ)+7)/8*8, depth+8)
	for i := range items {
		items[i].prefix = prefix
	}
}

// commonLength returns the length of the common prefix of a and b. Their first n bytes must be
// equal.
func commonLength(a, b []byte, n int) int {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return min(n, len(a), len(b))
}

// eightBytes returns the eight bytes of a key from index depth on, as a big-endian number.
// Bytes after the end of the key count as zeros.
func eightBytes(key []byte, depth int) uint64 {
	if len(key) >= depth+8 {
		return binary.BigEndian.Uint64(key[depth:])
	}
	var padded [8]byte
	copy(padded[:], key[min(depth, len(key)):])
	return binary.BigEndian.Uint64(padded[:])
}
