package parquet

import (
	"unsafe"
)

// stringCache converts the values of a column to strings. Repeated values from a dictionary
// share one string.
type stringCache struct {
	cached [1 << knownBits]string // by a hash of the address of the original value
	misses int                    // failed lookups in cached, minus successful ones; at least 0
	chunk  []byte                 // memory that short strings share; only appended to
}

const (
	knownBits = 10
	// textChunk is the size in bytes of an allocation that short strings share. The
	// allocation is freed when none of these strings is in use.
	textChunk = 2 << 10
	// If misses exceeds tooManyMisses, the column seems to have no dictionary, and the
	// cache is no longer used.
	tooManyMisses = 1 << (knownBits + 2)
)

// of returns a string with the content of value.
func (t *stringCache) of(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	if t.misses > tooManyMisses {
		return t.newString(value)
	}
	// Equal values of a dictionary have the same address. A value of a later page may have
	// the address of a value of an earlier page, so the contents are compared too.
	address := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(value))))
	known := &t.cached[address*0x9e3779b97f4a7c15>>(64-knownBits)]
	if *known == string(value) {
		t.misses = max(t.misses-1, 0)
		return *known
	}
	t.misses++
	// A string in cached may be in use long after its row, so it is not a part of chunk: it
	// would prevent the whole chunk from being freed.
	*known = string(value)
	return *known
}

// newString returns a new string with the content of value. If it is short, it shares an
// allocation with other strings.
func (t *stringCache) newString(value []byte) string {
	if len(value) > textChunk/8 {
		return string(value)
	}
	if len(value) > cap(t.chunk)-len(t.chunk) {
		t.chunk = make([]byte, 0, textChunk)
	}
	start := len(t.chunk)
	t.chunk = append(t.chunk, value...)
	return unsafe.String(&t.chunk[start], len(value))
}
