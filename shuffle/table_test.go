package shuffle

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"
)

func TestTableBehavesLikeAMap(t *testing.T) {
	hashes := map[string]func(key []byte) uint64{
		"good":      xxh3.Hash,
		"constant":  func([]byte) uint64 { return 7 },
		"tag only":  func(key []byte) uint64 { return xxh3.Hash(key) << 32 },
		"low only":  func(key []byte) uint64 { return xxh3.Hash(key) >> 32 },
		"few lows":  func(key []byte) uint64 { return xxh3.Hash(key) % 5 },
		"partition": func(key []byte) uint64 { return xxh3.Hash(key) >> 10 },
	}
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				table, model := NewTable[int](), map[string]int{}
				for range rapid.IntRange(1, 3).Draw(t, "rounds") {
					upserts(t, table, model, hash)
					requireModel(t, table, model, hash)
					table.Reset()
					clear(model)
					requireModel(t, table, model, hash)
					table.Reset()
				}
			})
		})
	}
}

// upserts counts the same random keys in a table and in model.
func upserts(t *rapid.T, table *Table[int], model map[string]int, hash func([]byte) uint64) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	distinct := rapid.SampledFrom([]int{1, 10, 600, 3000}).Draw(t, "distinct")
	for range rapid.SampledFrom([]int{0, 1, 500, 3000}).Draw(t, "upserts") {
		n := random.IntN(distinct)
		key := fmt.Append(nil, strings.Repeat("k", n%200), n)
		value, inserted := table.Upsert(hash(key), key)
		if inserted != (model[string(key)] == 0) || *value != model[string(key)] {
			t.Fatalf("key %q: inserted %v, value %d instead of %d", key, inserted, *value, model[string(key)])
		}
		*value++
		model[string(key)]++
	}
}

// requireModel checks that All, SortedByHash and Find of a table return the content of model.
func requireModel(t require.TestingT, table *Table[int], model map[string]int, hash func([]byte) uint64) {
	require.Equal(t, len(model), table.Len())
	all := map[string]int{}
	for key, value := range table.All() {
		all[string(key)] = *value
	}
	require.Equal(t, model, all)
	for key, value := range model {
		require.Equal(t, &value, table.Find(hash([]byte(key)), []byte(key)))
	}
	require.Nil(t, table.Find(hash([]byte("absent")), []byte("absent")))
	for range 2 {
		n, last := 0, uint64(0)
		for entry := range table.SortedByHash() {
			n++
			require.GreaterOrEqual(t, entry.Hash, last)
			last = entry.Hash
			require.Equal(t, hash(entry.Key), entry.Hash)
			require.Equal(t, model[string(entry.Key)], *entry.Value)
		}
		require.Equal(t, len(model), n)
	}
}

// Values with pointers must be stored where the garbage collector finds the pointers.
func TestTablesOfSeveralTypes(t *testing.T) {
	checkValues(t, true, func(i int) uint8 { return uint8(i) })
	checkValues(t, true, func(i int) struct{} { return struct{}{} })
	checkValues(t, true, func(i int) [3]int32 { return [3]int32{int32(i), 2, 3} })
	checkValues(t, true, func(i int) struct {
		a bool
		b float64
	} {
		return struct {
			a bool
			b float64
		}{i%2 == 0, float64(i)}
	})
	checkValues(t, false, func(i int) string { return fmt.Sprint(i) })
	checkValues(t, false, func(i int) [1]any { return [1]any{i} })
}

func checkValues[V comparable](t *testing.T, inline bool, value func(i int) V) {
	table := NewTable[V]()
	require.Equal(t, inline, table.inline)
	var zero V
	for round := range 2 {
		for i := range 5000 {
			key := fmt.Append(nil, "key ", i)
			v, inserted := table.Upsert(xxh3.Hash(key), key)
			require.True(t, inserted)
			require.Equal(t, zero, *v)
			*v = value(i + round)
			if i%1000 == 0 {
				runtime.GC()
			}
		}
		table.Prefetch([]uint64{xxh3.Hash([]byte("key 7")), 0, 1})
		i := 0
		for key, v := range table.All() {
			require.Equal(t, fmt.Sprint("key ", i), string(key))
			require.Equal(t, value(i+round), *v)
			i++
		}
		table.Reset()
	}
}

func TestTableBytesAreAnUpperLimit(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table := NewTable[int64]()
	for i := range 100_000 {
		limit := table.Bytes()
		key := fmt.Append(nil, "word ", i)
		table.Upsert(xxh3.Hash(key), key)
		used := table.entries.bytes + 8*int64(len(table.slots))
		require.LessOrEqual(t, used, limit)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), table.Bytes()+1<<20)
	require.Panics(t, func() {
		for range table.SortedByHash() {
			break
		}
		table.Upsert(1, []byte("new"))
	})
	table.Release()
	require.Zero(t, table.Len())
	table.Upsert(1, []byte("new"))
}

// BenchmarkTable counts words whose frequencies follow Zipf's law. 2 million words are
// distinct.
func BenchmarkTable(b *testing.B) {
	const distinct, words = 2_000_000, 17_000_000
	vocabulary := make([]byte, 0, 12*distinct)
	at := make([]uint32, distinct+1)
	for i := range distinct {
		vocabulary = fmt.Appendf(vocabulary, "w%d", i*7919%distinct)
		at[i+1] = uint32(len(vocabulary))
	}
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 10, distinct-1)
	text, ends := make([]byte, 0, 9*words), make([]uint32, words)
	for i := range words {
		w := zipf.Uint64()
		text = append(text, vocabulary[at[w]:at[w+1]]...)
		ends[i] = uint32(len(text))
	}
	run := func(name string, f func(hash uint64, word []byte)) {
		b.Run(name, func(b *testing.B) {
			cpuBefore := cpuTime(b)
			for b.Loop() {
				begin := uint32(0)
				for _, end := range ends {
					word := text[begin:end]
					f(xxh3.Hash(word), word)
					begin = end
				}
			}
			reportCPU(b, cpuBefore, words, "word")
		})
	}
	sum, counts := uint64(0), map[string]*int64{}
	run("hash", func(hash uint64, _ []byte) { sum += hash })
	run("map", func(_ uint64, word []byte) {
		if count := counts[string(word)]; count != nil {
			*count++
		} else {
			counts[string(word)] = new(int64)
		}
	})
	counts = nil
	table := NewTable[int64]()
	run("upsert", func(hash uint64, word []byte) {
		count, _ := table.Upsert(hash, word)
		*count++
	})
	b.Run("prefetch", func(b *testing.B) {
		begin := cpuTime(b)
		var hashes [64]uint64
		for b.Loop() {
			first := uint32(0)
			for ends := range slices.Chunk(ends, len(hashes)) {
				begin := first
				for i, end := range ends {
					hashes[i] = xxh3.Hash(text[begin:end])
					begin = end
				}
				table.Prefetch(hashes[:len(ends)])
				for i, end := range ends {
					count, _ := table.Upsert(hashes[i], text[first:end])
					*count++
					first = end
				}
			}
		}
		reportCPU(b, begin, words, "word")
	})
	b.Run("fill", func(b *testing.B) {
		b.ReportAllocs()
		begin := cpuTime(b)
		for b.Loop() {
			table.Release()
			for i := range distinct {
				word := vocabulary[at[i]:at[i+1]]
				table.Upsert(xxh3.Hash(word), word)
			}
		}
		reportCPU(b, begin, distinct, "word")
		b.ReportMetric(float64(table.Bytes())/distinct, "bytes/word")
	})
	b.Run("sort", func(b *testing.B) {
		used := time.Duration(0)
		for b.Loop() {
			random.Shuffle(table.numEntries, func(i, j int) { table.slots[i], table.slots[j] = table.slots[j], table.slots[i] })
			table.sorted = false
			begin := cpuTime(b)
			table.sort()
			used += cpuTime(b) - begin
		}
		b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/distinct, "cpu-ns/word")
	})
}

// BenchmarkSortedByHash reads the entries of a table of 1.5 million integers.
func BenchmarkSortedByHash(b *testing.B) {
	const keys = 1_500_000
	table := NewTable[int64]()
	var key []byte
	for i := range uint64(keys) {
		key = binary.BigEndian.AppendUint64(key[:0], i)
		table.Upsert(xxh3.Hash(key), key)
	}
	for range table.SortedByHash() { // sorts the table, before the measurement
	}
	sum, begin := 0, cpuTime(b)
	for b.Loop() {
		for entry := range table.SortedByHash() {
			sum += int(entry.Key[7])
		}
	}
	reportCPU(b, begin, keys, "entry")
}
