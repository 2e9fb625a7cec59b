package dataset

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestJoinTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.SampledFrom([]string{"", "a", "b", "ab", "abc", "\x00"})).Draw(t, "keys")
		table, want := newJoinTable[int](), map[string][]int{}
		buffer := make([]byte, 0, 8)
		for i, key := range keys {
			buffer = append(buffer[:0], key...)
			table.add(buffer, i)
			want[key] = append(want[key], i)
		}
		table.finish()
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for _, key := range []string{"", "a", "b", "ab", "abc", "\x00", "c"} {
					if got := table.find([]byte(key)); !slices.Equal(want[key], got) {
						t.Errorf("%q has the values %v: want %v", key, got, want[key])
					}
				}
			})
		}
		readers.Wait()
	})
	empty := newJoinTable[struct{}]()
	empty.finish()
	require.Empty(t, empty.find(nil))
}

// BenchmarkJoinTable looks up keys of eight bytes in a table of 150,000 keys, as TPC-H's Q3
// does. A tenth of the lookups find their key, or all if hits is true. For comparison, it
// also measures a map of slices, the reference.
func BenchmarkJoinTable(b *testing.B) {
	// The keys are those of candidates that are multiples of candidates/keys.
	const keys, candidates = 150_000, 1_500_000
	key := func(buffer []byte, i uint64) []byte {
		return binary.BigEndian.AppendUint64(buffer[:0], i*0x9e3779b97f4a7c15>>20)
	}
	var buffer []byte
	table, reference := newJoinTable[[3]int64](), map[string][][3]int64{}
	for i := range uint64(keys) {
		buffer = key(buffer, i*candidates/keys)
		table.add(buffer, [3]int64{})
		reference[string(buffer)] = append(reference[string(buffer)], [3]int64{})
	}
	table.finish()
	for _, hits := range []bool{false, true} {
		run := func(name string, find func(key []byte) [][3]int64) {
			b.Run(fmt.Sprintf("%s/hits=%v", name, hits), func(b *testing.B) {
				i, found := uint64(0), 0
				for b.Loop() {
					at := i * 7919 % candidates
					if hits {
						at -= at % (candidates / keys)
					}
					buffer = key(buffer, at)
					found += len(find(buffer))
					i++
				}
				runtime.KeepAlive(found)
			})
		}
		run("table", table.find)
		run("map", func(key []byte) [][3]int64 { return reference[string(key)] })
	}
}
