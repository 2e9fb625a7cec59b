package shuffle

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/codec"
)

func TestWriterWithoutAndWithSpills(t *testing.T) {
	s := newService(t)
	pairs := append(randomPairs(1, 20_000), pair{"large", string(make([]byte, 2<<20))}, pair{"", ""})
	const partitions = 37
	outputs := []Output{
		write(t, s, MapID{1, 0, 0}, partitions, 64<<20, pairs),
		write(t, s, MapID{1, 1, 0}, partitions, 0, pairs),
	}
	require.Equal(t, outputs[0].Checksum, outputs[1].Checksum)
	require.EqualValues(t, len(pairs), outputs[0].Records)
	require.Len(t, files(t, s), 4)
	for p := range partitions {
		want := ofPartition(pairs, p, partitions)
		for _, out := range outputs {
			got, err := fetchAll(t.Context(), s, []Output{out}, p)
			require.NoError(t, err)
			require.True(t, fmt.Sprint(want) == fmt.Sprint(got), p)
		}
	}
	info, err := os.Stat(outputs[1].Path)
	require.NoError(t, err)
	require.Equal(t, info.Size(), outputs[1].Bytes)

	s.Remove(1)
	require.Empty(t, files(t, s))
	_, err = s.Open(sectionID(MapID{1, 0, 0}, 0, 0))
	require.ErrorIs(t, err, block.ErrNotFound)
	w := s.NewWriter(MapID{1, 0, 1}, 1, 0)
	require.NoError(t, w.Add(0, nil, nil))
	_, err = w.Commit()
	require.EqualError(t, err, "write map output 1_0_1: shuffle 1 was removed")
	require.Empty(t, files(t, s))
}

func TestChecksumDependsOnRecordsAndPartitionsOnly(t *testing.T) {
	s := newService(t)
	attempt := uint64(0)
	sum := func(pairs []pair, shift int) uint64 {
		attempt++
		w := s.NewWriter(MapID{1, 0, attempt}, 10, 0)
		for _, p := range pairs {
			require.NoError(t, w.Add((partitionOf(p, 10)+shift)%10, []byte(p.key), []byte(p.value)))
		}
		out, err := w.Commit()
		require.NoError(t, err)
		return out.Checksum
	}
	rapid.Check(t, func(t *rapid.T) {
		pairs := randomPairs(rapid.Uint64().Draw(t, "seed"), 50)
		shuffled := rapid.Permutation(pairs).Draw(t, "order")
		require.Equal(t, sum(pairs, 0), sum(shuffled, 0))
		require.NotEqual(t, sum(pairs, 0), sum(shuffled, 1))
		require.NotEqual(t, sum(pairs, 0), sum(shuffled[1:], 0))
	})
}

func TestAbort(t *testing.T) {
	s := newService(t)
	w := s.NewWriter(MapID{1, 2, 3}, 4, 0)
	for _, p := range randomPairs(1, 20_000) {
		require.NoError(t, w.Add(0, []byte(p.key), []byte(p.value)))
	}
	require.NotEmpty(t, files(t, s))
	require.Positive(t, w.Spilled())
	w.Abort()
	require.Empty(t, files(t, s))
	require.ErrorIs(t, w.Add(0, nil, nil), errWriterDone)
	_, err := w.Commit()
	require.ErrorIs(t, err, errWriterDone)

	out := write(t, s, MapID{1, 2, 4}, 4, 0, randomPairs(1, 10)) // write calls Abort after Commit
	require.FileExists(t, out.Path)
	s.Close()
	require.NoDirExists(t, filepath.Dir(out.Path))
	_, err = s.Directory()
	require.ErrorIs(t, err, errClosed)
}

func TestAnOutputWithoutRecordsHasNoFiles(t *testing.T) {
	s := newService(t)
	out := write(t, s, MapID{1, 0, 0}, 10_000, 0, nil)
	require.Equal(t, Output{ExecutorID: "1", Host: "a", MapID: MapID{Shuffle: 1}}, out)
	require.Empty(t, files(t, s))
	got, err := fetchAll(t.Context(), s, []Output{out}, 5)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestWriterRefusesInvalidRecords(t *testing.T) {
	w := newService(t).NewWriter(MapID{}, 4, 0)
	defer w.Abort()
	require.EqualError(t, w.Add(4, nil, nil), "partition 4 of 4")
	require.EqualError(t, w.Add(-1, nil, nil), "partition -1 of 4")
	require.ErrorContains(t, w.Add(0, make([]byte, maxRecord), nil), "too large")
}

// A file exists at the path of the service's directory, so that nothing can be created there,
// as on a full disk.
func TestFilesThatCannotBeWritten(t *testing.T) {
	s := newService(t)
	w := s.NewWriter(MapID{1, 0, 0}, 4, 0)
	var err error
	for i, p := range randomPairs(1, 50_000) {
		if err = w.Add(0, []byte(p.key), []byte(p.value)); err != nil {
			break
		}
		if i == 20_000 {
			require.NoError(t, os.RemoveAll(s.directory))
			require.NoError(t, os.WriteFile(s.directory, nil, 0o600))
		}
	}
	require.ErrorIs(t, err, syscall.ENOTDIR)
	require.ErrorContains(t, err, "write map output 1_0_0")
	_, again := w.Commit()
	require.Equal(t, err, again)

	// A missing directory is created again. Then a spill is damaged before Commit.
	require.NoError(t, os.Remove(s.directory))
	w = s.NewWriter(MapID{1, 0, 1}, 4, 0)
	for _, p := range randomPairs(1, 20_000) {
		require.NoError(t, w.Add(0, []byte(p.key), []byte(p.value)))
	}
	require.NoError(t, os.Truncate(w.spills[0].path, 1000))
	_, err = w.Commit()
	require.ErrorIs(t, err, block.ErrDamaged)
	require.ErrorContains(t, err, w.id.String()+"-run-")
	require.Empty(t, files(t, s))
}

func TestWriterOnAFullDisk(t *testing.T) {
	full := tmpfs(t, 4<<20)
	s := New(Options{Directory: full, ExecutorID: "1"})
	defer s.Close()
	w := s.NewWriter(MapID{1, 0, 0}, 4, 0)
	random := randomPairs(1, 1000)
	var err error
	for i := 0; i < 1_000_000 && err == nil; i++ {
		value := fmt.Append(nil, random[i%1000].value, i*7919, i*104729)
		err = w.Add(i%4, value, value)
	}
	require.ErrorContains(t, err, full)
	require.ErrorContains(t, err, "no space left on device: free space")
	require.Empty(t, files(t, s))
}

func TestOutputsAreSentAsCBOR(t *testing.T) {
	s := newService(t)
	out := write(t, s, MapID{1, 0, 0}, 3000, 0, randomPairs(1, 10_000))
	encoded, err := codec.Encode(out)
	require.NoError(t, err)
	decoded, err := codec.Decode[Output](encoded)
	require.NoError(t, err)
	require.Equal(t, out, decoded)
}

func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 100, maxExactPartitions, maxExactPartitions + 1, 10_000}).Draw(t, "partitions")
		draws := rapid.SliceOfN(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 100), rapid.Int64Range(1, 1<<34)), 1, 50).Draw(t, "sizes")
		sizes := make([]int64, n)
		for i := range sizes {
			sizes[i] = draws[i*i%len(draws)]
		}
		s := newSizes(sizes)
		for i, size := range sizes {
			got := s.Of(i)
			require.Equal(t, size == 0, got == 0, i)
			if n <= maxExactPartitions {
				require.InDelta(t, float64(size), float64(got), 0.1*float64(size)+1)
			}
		}
		require.LessOrEqual(t, len(s.Huge), maxHuge)
		require.Zero(t, s.Of(-1))
		require.Zero(t, s.Of(n+8))
	})
	sizes := make([]int64, 5000)
	for i := range sizes {
		sizes[i] = 1000
	}
	sizes[7] = 1 << 40
	s := newSizes(sizes)
	require.EqualValues(t, 1<<40, s.Of(7))
	require.EqualValues(t, 1000, s.Of(8))
	require.Equal(t, Sizes{}, newSizes(make([]int64, 5000)))
}

func BenchmarkWriter(b *testing.B) {
	s := newService(b)
	keys := make([][]byte, 1<<16)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "word%d", i*7919)
	}
	value := []byte{1, 2}
	b.ReportAllocs()
	const records = 1_000_000
	attempt := uint64(0)
	for b.Loop() {
		attempt++
		w := s.NewWriter(MapID{1, 0, attempt}, 1024, 128<<20)
		for i := range records {
			if err := w.Add(i*7919%1024, keys[i%len(keys)], value); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := w.Commit(); err != nil {
			b.Fatal(err)
		}
		s.Remove(1)
		delete(s.removed, 1)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
}

func TestAddOrdered(t *testing.T) {
	s := newService(t)
	pairs := append(randomPairs(1, 3_000), pair{"large", string(make([]byte, 2<<20))})
	const partitions = 37
	whole := write(t, s, MapID{1, 0, 0}, partitions, 64<<20, pairs)
	w := s.NewWriter(MapID{1, 1, 0}, partitions, 64<<20)
	for _, some := range [][]pair{pairs[:1000], pairs[1000:1001], nil, pairs[1001:2000]} {
		require.NoError(t, w.AddOrdered(func(add func(partition int, key, value []byte) error) error {
			for p := range partitions {
				for _, record := range ofPartition(some, p, partitions) {
					require.NoError(t, add(p, []byte(record.key), []byte(record.value)))
				}
			}
			return nil
		}))
	}
	for _, p := range pairs[2000:] {
		require.NoError(t, w.Add(partitionOf(p, partitions), []byte(p.key), []byte(p.value)))
	}
	out, err := w.Commit()
	require.NoError(t, err)
	require.Equal(t, whole.Checksum, out.Checksum)
	require.Equal(t, whole.Records, out.Records)
	for p := range partitions {
		got, err := fetchAll(t.Context(), s, []Output{out}, p)
		require.NoError(t, err)
		require.ElementsMatch(t, ofPartition(pairs, p, partitions), got)
	}

	w = s.NewWriter(MapID{1, 2, 0}, partitions, 0)
	err = w.AddOrdered(func(add func(partition int, key, value []byte) error) error {
		require.NoError(t, add(5, nil, nil))
		return add(4, nil, nil)
	})
	require.EqualError(t, err, "write map output 1_2_0: a record of partition 4 after one of partition 5")
	require.Error(t, w.Add(5, nil, nil))
	require.Len(t, files(t, s), 4)
}
