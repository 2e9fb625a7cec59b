package shuffle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/block"
)

type prefixed struct {
	prefix uint64
	pair
}

func comparePrefixed(a, b prefixed) int {
	return cmp.Or(cmp.Compare(a.prefix, b.prefix), strings.Compare(a.key, b.key), strings.Compare(a.value, b.value))
}

// sortAll returns the records of a Sorter in the Sorter's order. Records with equal
// prefixes and keys may be in any order, so sortAll sorts them by their values.
func sortAll(t require.TestingT, s *Sorter) (got []prefixed) {
	for record, err := range s.All(context.Background()) {
		require.NoError(t, err)
		got = append(got, prefixed{record.Prefix, pair{string(record.Key), string(record.Value)}})
	}
	for i := 0; i < len(got); {
		end := i + 1
		for end < len(got) && got[end].prefix == got[i].prefix && got[end].key == got[i].key {
			end++
		}
		slices.SortFunc(got[i:end], comparePrefixed)
		i = end
	}
	return got
}

func TestSorterSorts(t *testing.T) {
	directory := t.TempDir()
	keys := map[string]func(random *rand.Rand) []byte{
		"random": func(random *rand.Rand) []byte { return fmt.Append(nil, random.Uint64()) },
		"equal":  func(*rand.Rand) []byte { return []byte("the same key") },
		"zeros":  func(random *rand.Rand) []byte { return make([]byte, random.IntN(30)) },
		"ends": func(random *rand.Rand) []byte {
			return []byte("a common beginning\x00\x00\x00\x01\x00")[:random.IntN(24)]
		},
		"binary": func(random *rand.Rand) []byte {
			return binary.BigEndian.AppendUint64(nil, random.Uint64N(4)<<random.IntN(64))
		},
		"lengthy": func(random *rand.Rand) []byte { return append(make([]byte, random.IntN(300)), byte(random.IntN(2))) },
	}
	prefixes := map[string]func(random *rand.Rand, key []byte) uint64{
		"none":   func(*rand.Rand, []byte) uint64 { return 0 },
		"key":    func(_ *rand.Rand, key []byte) uint64 { return eightBytes(key, 0) },
		"random": func(random *rand.Rand, _ []byte) uint64 { return random.Uint64() },
		"few":    func(random *rand.Rand, _ []byte) uint64 { return random.Uint64N(3) << 30 },
		"small":  func(random *rand.Rand, _ []byte) uint64 { return random.Uint64N(700) },
	}
	for keyName, key := range keys {
		for prefixName, prefix := range prefixes {
			t.Run(keyName+"/"+prefixName, func(t *testing.T) {
				rapid.Check(t, func(t *rapid.T) {
					s := NewSorter(directory, 0)
					defer s.Close()
					random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
					var want []prefixed
					for range rapid.SampledFrom([]int{0, 1, 2, 100, 1000}).Draw(t, "records") {
						k := key(random)
						p := prefixed{prefix(random, k), pair{string(k), fmt.Sprint(random.IntN(5))}}
						want = append(want, p)
						require.NoError(t, s.Add(p.prefix, k, []byte(p.value)))
						if random.IntN(400) == 0 {
							require.NoError(t, s.Spill())
						}
					}
					got := sortAll(t, s)
					slices.SortFunc(want, comparePrefixed)
					if !slices.Equal(want, got) {
						t.Fatalf("want %v, got %v", want, got)
					}
				})
			})
		}
	}
	require.Empty(t, mustGlob(t, directory))
}

func mustGlob(t testing.TB, directory string) []string {
	found, err := filepath.Glob(filepath.Join(directory, "*"))
	require.NoError(t, err)
	return found
}

func TestSorterSpillsAndMergesInPasses(t *testing.T) {
	directory := t.TempDir()
	s := NewSorter(directory, minBudget) // merges only two files at a time
	var want []prefixed
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 40_000 {
		size := 200
		if i == 20_000 {
			size = 3 << 20
		}
		p := prefixed{random.Uint64N(1000), pair{fmt.Sprint(random.Uint64()), strings.Repeat("v", size)}}
		want = append(want, p)
		require.NoError(t, s.Add(p.prefix, []byte(p.key), []byte(p.value)))
	}
	require.Greater(t, len(s.spilled), 8)
	spilled := s.Spilled()
	require.Positive(t, spilled)
	got := sortAll(t, s)
	slices.SortFunc(want, comparePrefixed)
	require.True(t, slices.Equal(want, got))
	require.Greater(t, s.Spilled(), spilled)
	require.LessOrEqual(t, len(mustGlob(t, directory)), 2)
	s.Close()
	require.Empty(t, mustGlob(t, directory))
	require.ErrorIs(t, s.Add(0, nil, nil), errSorterDone)
	for _, err := range s.All(t.Context()) {
		require.ErrorIs(t, err, errSorterDone)
	}
}

func TestSorterStaysWithinItsBudget(t *testing.T) {
	const budget = 8 << 20
	s := NewSorter(t.TempDir(), budget)
	defer s.Close()
	for i := range 300_000 {
		require.NoError(t, s.Add(uint64(i)*0x9E3779B97F4A7C15, []byte("some key"), []byte("value")))
		require.LessOrEqual(t, s.slabs.bytes+int64(len(s.items))*itemChunk*itemBytes, int64(budget-blockWriterMemory))
	}
	require.NotEmpty(t, s.spilled)
}

func TestFaultsOfSortedFiles(t *testing.T) {
	for name, fault := range map[string]struct {
		apply func(path string)
		want  error
	}{
		"removed":   {func(path string) { require.NoError(t, os.Remove(path)) }, os.ErrNotExist},
		"truncated": {func(path string) { require.NoError(t, os.Truncate(path, 1000)) }, block.ErrDamaged},
		"flipped":   {func(path string) { flip(t, path, 2000) }, block.ErrDamaged},
		"other file": {func(path string) {
			require.NoError(t, os.WriteFile(path, blockBytes(t, []pair{{"short", ""}}), 0o600))
		}, block.ErrDamaged},
	} {
		for _, files := range []int{1, 5} { // five files need several merges
			t.Run(fmt.Sprint(name, files), func(t *testing.T) {
				directory := t.TempDir()
				s := NewSorter(directory, 0)
				for range files {
					for i := range 1000 {
						require.NoError(t, s.Add(uint64(i), fmt.Append(nil, i*104729), nil))
					}
					require.NoError(t, s.Spill())
				}
				path := s.spilled[0]
				fault.apply(path)
				var err error
				for _, err = range s.All(t.Context()) {
					if err != nil {
						break
					}
				}
				require.ErrorIs(t, err, fault.want)
				require.ErrorContains(t, err, path)
				s.Close()
				require.Empty(t, mustGlob(t, directory))
			})
		}
	}
}

func TestSorterOnAFullDisk(t *testing.T) {
	full := tmpfs(t, 2<<20)
	s := NewSorter(full, 0)
	defer s.Close()
	value := make([]byte, 1000)
	var err error
	for i := 0; i < 100_000 && err == nil; i++ {
		_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(value) // never fails
		err = s.Add(uint64(i), value, nil)
	}
	require.ErrorContains(t, err, full)
	require.ErrorContains(t, err, "no space left on device: free space")
	require.Empty(t, mustGlob(t, full))
	require.Equal(t, err, s.Add(0, nil, nil))
}

func TestSortingEndsWithItsContext(t *testing.T) {
	for _, spill := range []bool{false, true} {
		s := NewSorter(t.TempDir(), 0)
		for i := range 5000 {
			require.NoError(t, s.Add(uint64(i), nil, nil))
		}
		if spill {
			require.NoError(t, s.Spill())
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		n, last := 0, error(nil)
		for _, err := range s.All(ctx) {
			if n++; n == 100 {
				cancel(errors.New("enough"))
			}
			last = err
		}
		cancel(nil)
		require.EqualError(t, last, "enough")
		require.Less(t, n, 2000)
		s.Close()
	}
}

// BenchmarkSorter sorts lines of 100 bytes, with the first eight bytes as the prefix and
// the others as the key. It sorts them in memory, and with a budget of a sixteenth of their
// size.
func BenchmarkSorter(b *testing.B) {
	const lines = 5_000_000
	text := make([]byte, 100*lines)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range lines {
		line := text[100*i : 100*i+100]
		for j := 0; j < 24; j++ {
			line[j] = 'a' + byte(random.IntN(26))
		}
		copy(line[24:], bytes.Repeat([]byte("some text "), 8))
	}
	for name, budget := range map[string]int64{"memory": 2 << 30, "spill": 100 * lines / 16} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			begin := cpuTime(b)
			for b.Loop() {
				s := NewSorter(b.TempDir(), budget)
				for i := range lines {
					line := text[100*i : 100*i+100]
					if err := s.Add(binary.BigEndian.Uint64(line), line, nil); err != nil {
						b.Fatal(err)
					}
				}
				added := cpuTime(b)
				n := 0
				s.sort()
				ordered := cpuTime(b)
				for _, err := range s.All(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != lines {
					b.Fatal(n)
				}
				b.ReportMetric((ordered - added).Seconds(), "sort-cpu-s")
				b.ReportMetric((cpuTime(b) - ordered).Seconds(), "read-cpu-s")
				s.Close()
			}
			b.ReportMetric((cpuTime(b)-begin).Seconds()/float64(b.N), "cpu-s/op")
		})
	}
}
