package shuffle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
)

func TestFetchFromFilesAndPeers(t *testing.T) {
	config := access(t)
	executors := []*executor{newExecutor(t, config, "0", "a"), newExecutor(t, config, "1", "a")}
	for i := 2; i < 8; i++ {
		executors = append(executors, newExecutor(t, config, fmt.Sprint(i), fmt.Sprint("host", i)))
	}
	const partitions = 5
	var outputs []Output
	var all []pair
	for m := range 24 {
		pairs := randomPairs(uint64(m), 100*(m%5))
		outputs = append(outputs, write(t, executors[m%len(executors)].Service, MapID{3, uint64(m), 1}, partitions, 0, pairs))
		all = append(all, pairs...)
	}
	for p := range partitions {
		got, err := fetchAll(t.Context(), executors[0].Service, outputs, p)
		require.NoError(t, err)
		require.Equal(t, ofPartition(all, p, partitions), got)
	}
	for range executors[0].Fetch(t.Context(), outputs, 0) {
		break // TestMain checks that the goroutines end
	}
	executors[0].Remove(3)
	_, err := fetchAll(t.Context(), executors[2].Service, outputs[6:11], 1)
	requireFetchError(t, err, outputs[8], 1, block.ErrNotFound)
}

// A task that runs again on another executor reads the same records in the same order. The
// order does not depend on which outputs are on the executor's host, or on the memory budget.
func TestTheOrderOfRecordsDependsOnTheOutputsOnly(t *testing.T) {
	config := access(t)
	var executors []*executor
	for i := range 7 {
		executors = append(executors, newExecutor(t, config, fmt.Sprint(i), fmt.Sprint("host", i/2)))
	}
	var outputs []Output
	for m := range 30 {
		outputs = append(outputs, write(t, executors[m*m%len(executors)].Service, MapID{3, uint64(m), 1}, 2, 0, randomPairs(uint64(m), 4*m*m)))
	}
	for partition := range 2 {
		var want []pair
		for i, reader := range executors {
			for _, limit := range []int64{1 << 10, blockSize, maxInFlight} {
				var got []pair
				f := &fetch{service: reader.Service, partition: partition, stallTimeout: time.Minute, limit: limit}
				f.yield = func(records Records, err error) bool {
					require.NoError(t, err)
					got = append(got, pairsOf(records)...)
					return true
				}
				f.run(t.Context(), outputs)
				if want == nil {
					want = got
				}
				require.NotEmpty(t, got)
				require.True(t, slices.Equal(want, got), "executor %d, limit %d, partition %d", i, limit, partition)
			}
		}
	}
}

// A connection that waits too long for the consumer is closed. The remaining blocks are
// fetched on a new connection.
func TestConnectionsAreReplacedIfTheConsumerIsSlow(t *testing.T) {
	config := access(t)
	one, two := newExecutor(t, config, "1", "a"), newExecutor(t, config, "2", "b")
	pairs := randomPairs(1, 20_000)
	out := write(t, one.Service, MapID{1, 0, 0}, 1, 0, pairs)
	var requests []block.ID
	server, err := transfer.Listen("127.0.0.1:0", func(id block.ID) (transfer.Content, error) {
		requests = append(requests, id)
		return one.Open(id)
	}, transfer.Options{TLS: config})
	require.NoError(t, err)
	defer server.Close()
	out.Address = server.Addr().String()

	var got []pair
	f := &fetch{service: two.Service, stallTimeout: time.Millisecond, limit: blockSize}
	f.yield = func(records Records, err error) bool {
		require.NoError(t, err)
		got = append(got, pairsOf(records)...)
		time.Sleep(20 * time.Millisecond)
		return true
	}
	f.run(t.Context(), []Output{out})
	sortPairs(got)
	require.Equal(t, ofPartition(pairs, 0, 1), got)
	require.Greater(t, len(requests), 2)
	require.Regexp(t, `^shuffle_1_0_0_0_\d+$`, requests[1])
}

func TestFetchFromDamagedFiles(t *testing.T) {
	config := access(t)
	const partitions = 3
	pairs := randomPairs(1, 5000)
	for _, fault := range []struct {
		name   string
		apply  func(t *testing.T, out Output)
		local  error // expected error of the executor that wrote the file, and of others on its host
		remote error
	}{
		{"data removed", func(t *testing.T, out Output) { require.NoError(t, os.Remove(out.Path)) }, os.ErrNotExist, block.ErrNotFound},
		{"index removed", func(t *testing.T, out Output) { require.NoError(t, os.Remove(indexPath(out.Path))) }, os.ErrNotExist, block.ErrNotFound},
		{"data truncated", func(t *testing.T, out Output) { require.NoError(t, os.Truncate(out.Path, out.Bytes-1)) }, block.ErrDamaged, block.ErrDamaged},
		{"data empty", func(t *testing.T, out Output) { require.NoError(t, os.Truncate(out.Path, 0)) }, block.ErrDamaged, block.ErrDamaged},
		{"index truncated", func(t *testing.T, out Output) { require.NoError(t, os.Truncate(indexPath(out.Path), 17)) }, block.ErrDamaged, block.ErrDamaged},
		{"index empty", func(t *testing.T, out Output) { require.NoError(t, os.Truncate(indexPath(out.Path), 0)) }, block.ErrDamaged, block.ErrDamaged},
		{"bit of data flipped", func(t *testing.T, out Output) { flip(t, out.Path, out.Bytes-100) }, block.ErrDamaged, block.ErrDamaged},
		{"bit of index flipped", func(t *testing.T, out Output) { flip(t, indexPath(out.Path), 15) }, block.ErrDamaged, block.ErrDamaged},
	} {
		t.Run(fault.name, func(t *testing.T) {
			one, two := newExecutor(t, config, "1", "a"), newExecutor(t, config, "2", "b")
			good := write(t, one.Service, MapID{1, 0, 0}, partitions, 0, pairs)
			out := write(t, one.Service, MapID{1, 1, 0}, partitions, 0, pairs)
			fault.apply(t, out)
			for reader, reason := range map[*executor]error{one: fault.local, two: fault.remote} {
				_, err := fetchAll(t.Context(), reader.Service, []Output{good, out}, partitions-1)
				requireFetchError(t, err, out, partitions-1, reason)
			}
		})
	}
}

func flip(t testing.TB, path string, at int64) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	b := []byte{0}
	_, err = file.ReadAt(b, at)
	require.NoError(t, err)
	b[0] ^= 0x10
	_, err = file.WriteAt(b, at)
	require.NoError(t, err)
	require.NoError(t, file.Close())
}

// If bytes are damaged in transfer or in memory, but not on disk, the second read of the
// section returns the right bytes.
func TestADamagedSectionIsReadAgain(t *testing.T) {
	config := access(t)
	one, two := newExecutor(t, config, "1", "a"), newExecutor(t, config, "2", "b")
	pairs := randomPairs(1, 20_000)
	out := write(t, one.Service, MapID{1, 0, 0}, 1, 0, pairs)
	at := out.Bytes - 100
	for _, reader := range []*executor{one, two} {
		flip(t, out.Path, at)
		repaired := false
		opened := one.Service
		repair := func() {
			if !repaired {
				repaired = true
				flip(t, out.Path, at)
			}
		}
		if reader == two {
			// The server damages the section only in its reply to the first request.
			requests := 0
			server, err := transfer.Listen("127.0.0.1:0", func(id block.ID) (transfer.Content, error) {
				if requests++; requests == 2 {
					repair()
				}
				return opened.Open(id)
			}, transfer.Options{TLS: config})
			require.NoError(t, err)
			defer server.Close()
			moved := out
			moved.Address = server.Addr().String()
			got, err := fetchAll(t.Context(), two.Service, []Output{moved}, 0)
			require.NoError(t, err)
			require.Equal(t, ofPartition(pairs, 0, 1), got)
			require.Equal(t, 2, requests)
			continue
		}
		_, err := fetchAll(t.Context(), one.Service, []Output{out}, 0)
		requireFetchError(t, err, out, 0, block.ErrDamaged)
		repair()
		got, err := fetchAll(t.Context(), one.Service, []Output{out}, 0)
		require.NoError(t, err)
		require.Equal(t, ofPartition(pairs, 0, 1), got)
	}
}

func TestPeersThatCannotBeReached(t *testing.T) {
	config := access(t)
	one := newExecutor(t, config, "1", "a")
	out := write(t, one.Service, MapID{1, 0, 0}, 1, 0, randomPairs(1, 10))
	one.server.Close()

	two := newExecutor(t, config, "2", "b")
	_, err := fetchAll(t.Context(), two.Service, []Output{out}, 0)
	requireFetchError(t, err, out, 0, transfer.ErrUnreachable)
	lonely := New(Options{ExecutorID: "3"})
	_, err = fetchAll(t.Context(), lonely, []Output{out}, 0)
	requireFetchError(t, err, out, 0, transfer.ErrUnreachable)

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	out.Address = silent.Addr().String()
	client := transfer.NewClient(transfer.Options{TLS: config, Timeout: 100 * time.Millisecond})
	defer client.Close()
	hasty := New(Options{ExecutorID: "3", Peers: client})
	_, err = fetchAll(t.Context(), hasty, []Output{out}, 0)
	requireFetchError(t, err, out, 0, transfer.ErrUnreachable)

	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("enough")) })
	_, err = fetchAll(ctx, two.Service, []Output{out}, 0)
	require.EqualError(t, err, "enough")
}

func TestOutputIsFetchedIfItsLocalFileCannotBeRead(t *testing.T) {
	config := access(t)
	one, two := newExecutor(t, config, "1", "a"), newExecutor(t, config, "2", "a")
	pairs := randomPairs(1, 100)
	out := write(t, one.Service, MapID{1, 0, 0}, 1, 0, pairs)
	moved := out
	moved.Path += ".gone"
	got, err := fetchAll(t.Context(), two.Service, []Output{moved}, 0)
	require.NoError(t, err)
	require.Equal(t, ofPartition(pairs, 0, 1), got)

	one.server.Close() // the executor does not answer, but its files still exist
	got, err = fetchAll(t.Context(), two.Service, []Output{out}, 0)
	require.NoError(t, err)
	require.Equal(t, ofPartition(pairs, 0, 1), got)
}

func TestOpen(t *testing.T) {
	store := block.New(block.Options{Memory: 1 << 20})
	defer store.Close()
	require.NoError(t, store.Put("held_x", []byte("x"), block.MemoryOnly))
	s := New(Options{Directory: t.TempDir(), Store: store})
	defer s.Close()
	out := write(t, s, MapID{1, 2, 3}, 2, 0, randomPairs(1, 100))
	content, err := s.Open("held_x")
	require.NoError(t, err)
	require.EqualValues(t, 1, content.Size())
	content.Release()
	content, err = s.Open("shuffle_1_2_3_1")
	require.NoError(t, err)
	size := content.Size()
	require.Positive(t, size)
	content.Release()
	content, err = s.Open("shuffle_1_2_3_1_5")
	require.NoError(t, err)
	require.Equal(t, size-5, content.Size())
	content.Release()
	for _, id := range []block.ID{"held_y", "shuffle_1_2_3_2", "shuffle_1_2_4_0", "shuffle_", "shuffle_1_2_3", "shuffle_1_2_3_-1",
		block.ID(fmt.Sprintf("shuffle_1_2_3_1_%d", out.Bytes)), "shuffle_1_2_3_1_18446744073709551615"} {
		_, err = s.Open(id)
		require.ErrorIs(t, err, block.ErrNotFound, id)
		require.ErrorContains(t, err, string(id))
	}
}

func TestIndexesAreCached(t *testing.T) {
	s := newService(t)
	out := write(t, s, MapID{1, 0, 0}, 2, 0, randomPairs(1, 100))
	_, err := s.indexes.get(out.Path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(indexPath(out.Path)))
	_, err = s.indexes.get(out.Path)
	require.NoError(t, err)
	element := s.indexes.entries[out.Path]
	one := element.Value.(*cachedIndex).bytes()
	require.Equal(t, one, s.indexes.bytes)
	element.Value.(*cachedIndex).offsets = make([]int64, maxIndexBytes/8)
	s.indexes.bytes = element.Value.(*cachedIndex).bytes()
	other := write(t, s, MapID{1, 1, 0}, 2, 0, randomPairs(1, 100))
	_, err = s.indexes.get(other.Path)
	require.NoError(t, err)
	require.Len(t, s.indexes.entries, 1)
	require.Equal(t, one, s.indexes.bytes)
}

func TestMethodsOfANilServiceFail(t *testing.T) {
	s := From(t.Context())
	require.Nil(t, s)
	w := s.NewWriter(MapID{}, 1, 0)
	require.ErrorIs(t, w.Add(0, nil, nil), errNoService)
	_, err := w.Commit()
	require.ErrorIs(t, err, errNoService)
	w.Abort()
	for _, err := range s.Fetch(t.Context(), nil, 0) {
		require.ErrorIs(t, err, errNoService)
	}
	_, err = s.Directory()
	require.ErrorIs(t, err, errNoService)
	_, err = s.Open("shuffle_1_2_3_4")
	require.ErrorIs(t, err, block.ErrNotFound)
	require.Positive(t, s.TaskMemory())
	s.Remove(1)
	s.Close()

	s = newService(t)
	require.Same(t, s, From(With(t.Context(), s)))
}

func BenchmarkFetch(b *testing.B) {
	config := access(b)
	one, two, three := newExecutor(b, config, "1", "a"), newExecutor(b, config, "2", "a"), newExecutor(b, config, "3", "b")
	out := write(b, one.Service, MapID{1, 0, 0}, 1, 128<<20, randomPairs(1, 200_000))
	for name, s := range map[string]*executor{"host": two, "peer": three} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(out.Bytes)
			for b.Loop() {
				for records, err := range s.Fetch(b.Context(), []Output{out}, 0) {
					if err != nil {
						b.Fatal(err)
					}
					for _, _, ok := records.Next(); ok; _, _, ok = records.Next() {
					}
				}
			}
		})
	}
}
