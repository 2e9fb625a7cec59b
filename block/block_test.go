package block_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const kib = 1 << 10

// content returns pseudorandom bytes.
func content(seed uint64, size int) []byte {
	value := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}).Read(value) // never fails
	return value
}

// newStore returns a store, which is closed at the end of the test, and the parent directory
// of the store's own directory.
func newStore(t *testing.T, memory int64) (*block.Store, string) {
	directory := t.TempDir()
	store := block.New(block.Options{Memory: memory, Directory: directory})
	t.Cleanup(store.Close)
	return store, directory
}

// files returns the paths of the files that stores have written below a directory that
// newStore returned.
func files(t *testing.T, directory string) []string {
	found, err := filepath.Glob(filepath.Join(directory, "*", "*"))
	require.NoError(t, err)
	return found
}

// locationsOf returns for each block of a store whether it is in memory, on disk, or both.
func locationsOf(store *block.Store) map[block.ID]string {
	locations := map[block.ID]string{}
	for _, b := range store.Status().Blocks {
		locations[b.ID] = map[[2]bool]string{{true, false}: "memory", {false, true}: "disk", {true, true}: "both"}[[2]bool{b.InMemory, b.OnDisk}]
	}
	return locations
}

func open(t *testing.T, store *block.Store, id block.ID) *block.Reader {
	reader, err := store.Open(id)
	require.NoError(t, err)
	t.Cleanup(reader.Release)
	return reader
}

func read(t *testing.T, store *block.Store, id block.ID) []byte {
	reader := open(t, store, id)
	defer reader.Release()
	value, err := reader.Bytes(0, reader.Size())
	require.NoError(t, err)
	return value
}

func TestIDs(t *testing.T) {
	require.Equal(t, block.ID("taskresult_7"), block.TaskResult(7))
	require.Equal(t, block.ID("broadcast_18446744073709551615"), block.Broadcast(1<<64-1))
	require.Equal(t, block.ID("held_a/b c"), block.Held("a/b c"))
	key, ok := block.Held("held_x").HeldKey()
	require.True(t, ok)
	require.Equal(t, "held_x", key)
	_, ok = block.TaskResult(1).HeldKey()
	require.False(t, ok)
}

func TestReadReturnsThePutBytes(t *testing.T) {
	sizes := []int{0, 1, kib, block.ChunkSize - 1, block.ChunkSize, block.ChunkSize + 1, 3*block.ChunkSize + 17}
	for name, memory := range map[string]int64{"memory": 1 << 20, "disk": 0} {
		t.Run(name, func(t *testing.T) {
			store, _ := newStore(t, memory)
			for i, size := range sizes {
				id, value := block.TaskResult(uint64(i)), content(uint64(i), size)
				require.NoError(t, store.Put(id, value, block.MemoryAndDisk))
				require.Equal(t, map[bool]string{true: "memory", false: "disk"}[memory > 0 || size == 0], locationsOf(store)[id])
				reader := open(t, store, id)
				require.EqualValues(t, size, reader.Size())
				got, err := io.ReadAll(io.NewSectionReader(reader, 0, reader.Size()))
				require.NoError(t, err)
				require.Equal(t, value, got)
				for _, from := range []int{0, 1, size / 2, size - 1, size} {
					for _, to := range []int{from, from + 1, from + block.ChunkSize, size} {
						if from < 0 || from > size || to < from {
							continue
						}
						part := make([]byte, to-from)
						n, err := reader.ReadAt(part, int64(from))
						if to > size {
							require.ErrorIs(t, err, io.EOF)
							_, err = reader.Bytes(int64(from), int64(to))
							require.ErrorContains(t, err, string(id))
							continue
						}
						require.NoError(t, err)
						require.Equal(t, value[from:to], part[:n])
						part, err = reader.Bytes(int64(from), int64(to))
						require.NoError(t, err)
						require.True(t, bytes.Equal(value[from:to], part))
					}
				}
				n, err := reader.ReadAt(make([]byte, 1), int64(size)+5)
				require.Zero(t, n)
				require.ErrorIs(t, err, io.EOF)
				_, err = reader.ReadAt(nil, -1)
				require.ErrorContains(t, err, "negative offset")
				for chunk := range int64(size+block.ChunkSize-1) / block.ChunkSize {
					want := value[chunk*block.ChunkSize : min((chunk+1)*block.ChunkSize, int64(size))]
					read := make([]byte, len(want))
					checksum, err := reader.ReadChunk(chunk, read)
					require.NoError(t, err)
					require.Equal(t, want, read)
					require.Equal(t, block.Checksum(want), checksum)
				}
			}
		})
	}
}

func TestPutRefusesAnExistingID(t *testing.T) {
	store, _ := newStore(t, kib)
	require.NoError(t, store.Put(block.Held("x"), nil, block.MemoryOnly))
	require.ErrorIs(t, store.Put(block.Held("x"), nil, block.MemoryOnly), block.ErrExists)
	require.True(t, store.Remove(block.Held("x")))
	require.False(t, store.Remove(block.Held("x")))
	_, err := store.Open(block.Held("x"))
	require.ErrorIs(t, err, block.ErrNotFound)
	require.ErrorContains(t, err, "held_x")
	require.NoError(t, store.Put(block.Held("x"), nil, block.MemoryOnly))
}

func TestLeastRecentlyUsedBlocksLeaveMemory(t *testing.T) {
	store, _ := newStore(t, 4*kib)
	for i := range uint64(4) {
		require.NoError(t, store.Put(block.TaskResult(i), content(i, kib), block.MemoryAndDisk))
	}
	read(t, store, block.TaskResult(0))
	require.NoError(t, store.Put(block.TaskResult(4), content(4, kib), block.MemoryAndDisk))
	require.NoError(t, store.Put(block.TaskResult(5), content(5, 2*kib), block.MemoryAndDisk))
	require.Equal(t, map[block.ID]string{
		"taskresult_0": "memory", "taskresult_1": "disk", "taskresult_2": "disk",
		"taskresult_3": "disk", "taskresult_4": "memory", "taskresult_5": "memory",
	}, locationsOf(store))
	status := store.Status()
	require.EqualValues(t, 4*kib, status.Memory)
	require.EqualValues(t, 3*kib, status.Disk)
	for i := range uint64(5) {
		require.Equal(t, content(i, kib), read(t, store, block.TaskResult(i)))
	}
}

func TestMemoryOnlyBlocksAreDropped(t *testing.T) {
	store, _ := newStore(t, 2*kib)
	require.NoError(t, store.Put(block.Held("mark"), nil, block.MemoryOnly))
	require.NoError(t, store.Put(block.Held("a"), content(1, kib), block.MemoryOnly))
	require.NoError(t, store.Put(block.Held("b"), content(2, kib), block.MemoryOnly))
	require.NoError(t, store.Put(block.Held("c"), content(3, kib), block.MemoryAndDisk))
	require.Equal(t, map[block.ID]string{"held_mark": "memory", "held_b": "memory", "held_c": "memory"}, locationsOf(store))

	pinned := open(t, store, block.Held("b"))
	require.ErrorIs(t, store.Put(block.Held("d"), content(4, 2*kib), block.MemoryOnly), block.ErrNoMemory)
	require.Equal(t, map[block.ID]string{"held_mark": "memory", "held_b": "memory", "held_c": "disk"}, locationsOf(store))
	pinned.Release()
	require.ErrorIs(t, store.Put(block.Held("e"), content(5, 3*kib), block.MemoryOnly), block.ErrNoMemory)
	require.Contains(t, locationsOf(store), block.Held("b"), "a block that never fits drops no other")
	require.NoError(t, store.Put(block.Held("f"), content(6, 3*kib), block.MemoryAndDisk))
	require.Equal(t, map[block.ID]string{"held_mark": "memory", "held_b": "memory", "held_c": "disk", "held_f": "disk"}, locationsOf(store))
}

func TestPinnedBlocksStayInMemory(t *testing.T) {
	store, _ := newStore(t, 2*kib)
	require.NoError(t, store.Put(block.TaskResult(1), content(1, kib), block.MemoryAndDisk))
	require.NoError(t, store.Put(block.TaskResult(2), content(2, kib), block.MemoryAndDisk))
	first, second := open(t, store, block.TaskResult(1)), open(t, store, block.TaskResult(2))
	require.NoError(t, store.Put(block.TaskResult(3), content(3, kib), block.MemoryAndDisk))
	require.Equal(t, map[block.ID]string{"taskresult_1": "memory", "taskresult_2": "memory", "taskresult_3": "disk"}, locationsOf(store))
	first.Release()
	first.Release()
	require.NoError(t, store.Put(block.TaskResult(4), content(4, kib), block.MemoryAndDisk))
	require.Equal(t, "disk", locationsOf(store)[block.TaskResult(1)])
	require.Equal(t, "memory", locationsOf(store)[block.TaskResult(2)])
	second.Release()
}

func TestRemovedBlockIsFreedWithItsLastReader(t *testing.T) {
	for name, level := range map[string]block.Level{"memory": block.MemoryOnly, "disk": block.DiskOnly} {
		t.Run(name, func(t *testing.T) {
			store, directory := newStore(t, 8*kib)
			value := content(1, kib)
			require.NoError(t, store.Put(block.TaskResult(1), value, level))
			first, second := open(t, store, block.TaskResult(1)), open(t, store, block.TaskResult(1))
			require.True(t, store.Remove(block.TaskResult(1)))
			_, err := store.Open(block.TaskResult(1))
			require.ErrorIs(t, err, block.ErrNotFound)
			require.NoError(t, store.Put(block.TaskResult(1), content(2, kib), level), "the id is free again")
			first.Release()
			got, err := second.Bytes(0, kib)
			require.NoError(t, err)
			require.Equal(t, value, got)
			before := store.Status().Memory + int64(len(files(t, directory)))*kib
			second.Release()
			require.Equal(t, before-kib, store.Status().Memory+int64(len(files(t, directory)))*kib)
			require.Equal(t, content(2, kib), read(t, store, block.TaskResult(1)))
		})
	}
}

// The store cannot write files, because its parent directory is missing. A directory without
// write permission is not enough, because root can write to it.
func TestBlocksStayInMemoryIfTheDiskCannotBeWritten(t *testing.T) {
	var log strings.Builder
	directory := filepath.Join(t.TempDir(), "later")
	store := block.New(block.Options{Memory: kib, Directory: directory, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	defer store.Close()
	for i := range uint64(4) {
		require.NoError(t, store.Put(block.TaskResult(i), content(i, kib), block.MemoryAndDisk))
	}
	require.EqualValues(t, 4*kib, store.Status().Memory)
	require.Equal(t, 1, strings.Count(log.String(), "level=WARN"), "one warning: %s", log.String())
	require.Contains(t, log.String(), directory)
	require.ErrorIs(t, store.Put(block.Held("x"), content(8, kib), block.DiskOnly), os.ErrNotExist)
	require.ErrorIs(t, store.Put(block.Held("y"), content(9, kib), block.MemoryOnly), block.ErrNoMemory)
	require.Len(t, store.Status().Blocks, 4)

	require.NoError(t, os.Mkdir(directory, 0o700))
	require.NoError(t, store.Put(block.TaskResult(4), content(4, kib), block.MemoryAndDisk))
	require.EqualValues(t, kib, store.Status().Memory, "the next block brings memory below its limit")
	for i := range uint64(5) {
		require.Equal(t, content(i, kib), read(t, store, block.TaskResult(i)))
	}
}

func TestCachedPartitionsExceedNoMemoryIfTheDiskCannotBeWritten(t *testing.T) {
	store := block.New(block.Options{Memory: 10, Directory: filepath.Join(t.TempDir(), "missing")})
	defer store.Close()
	require.NoError(t, store.Put(block.Cached(1, 0, 0), make([]byte, 6), block.MemoryAndDisk))
	require.ErrorIs(t, store.Put(block.Cached(1, 0, 1), make([]byte, 6), block.MemoryAndDisk), block.ErrNoMemory)
	require.ErrorIs(t, store.Put(block.Cached(1, 0, 2), make([]byte, 11), block.MemoryAndDisk), block.ErrNoMemory)
	require.ErrorIs(t, store.Put(block.Cached(1, 0, 3), make([]byte, 1), block.DiskOnly), os.ErrNotExist)
	require.NoError(t, store.Put(block.TaskResult(1), make([]byte, 6), block.MemoryAndDisk), "a result must not be lost")
	reader, err := store.Open(block.Cached(1, 0, 0))
	require.NoError(t, err)
	reader.Release()
}

func TestDamagedFiles(t *testing.T) {
	const size = 3*block.ChunkSize + 17
	for name, damage := range map[string]func(path string) error{
		"changed": func(path string) error {
			file, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = file.WriteAt([]byte{0xff ^ content(1, size)[2*block.ChunkSize+5]}, 2*block.ChunkSize+5)
				_ = file.Close()
			}
			return err
		},
		"cut":     func(path string) error { return os.Truncate(path, 2*block.ChunkSize) },
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			store, directory := newStore(t, 0)
			require.NoError(t, store.Put(block.TaskResult(1), content(1, size), block.DiskOnly))
			path := files(t, directory)[0]
			require.NoError(t, damage(path))
			reader, err := store.Open(block.TaskResult(1))
			if err == nil {
				defer reader.Release()
				part, err := reader.Bytes(0, 2*block.ChunkSize)
				require.NoError(t, err, "undamaged chunks can be read")
				require.Equal(t, content(1, size)[:2*block.ChunkSize], part)
				_, err = reader.Bytes(2*block.ChunkSize+7, 2*block.ChunkSize+8)
				require.Error(t, err, "the whole chunk is checked")
				_, err = reader.ReadAt(make([]byte, size), 0)
				requireDamaged(t, err, path)
			} else {
				requireDamaged(t, err, path)
			}
		})
	}
}

func requireDamaged(t *testing.T, err error, path string) {
	require.ErrorIs(t, err, block.ErrDamaged)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "taskresult_1")
}

func TestCloseRemovesFiles(t *testing.T) {
	store, directory := newStore(t, 0)
	require.NoError(t, store.Put(block.TaskResult(1), content(1, kib), block.MemoryAndDisk))
	reader := open(t, store, block.TaskResult(1))
	require.Len(t, files(t, directory), 1)
	store.Close()
	store.Close()
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left)
	value, err := reader.Bytes(0, kib)
	require.NoError(t, err)
	require.Equal(t, content(1, kib), value)
	reader.Release()
	require.ErrorIs(t, store.Put(block.TaskResult(2), nil, block.MemoryOnly), block.ErrClosed)
	_, err = store.Open(block.TaskResult(1))
	require.ErrorIs(t, err, block.ErrNotFound)
	require.Empty(t, store.Status().Blocks)
}

// Some goroutines put, read and remove the same blocks. Others put blocks while the store is
// closed.
func TestConcurrentUse(t *testing.T) {
	store, directory := newStore(t, 16*kib)
	levels := []block.Level{block.MemoryAndDisk, block.MemoryOnly, block.DiskOnly}
	use := func(worker, turns int) {
		random := rand.New(rand.NewPCG(uint64(worker), 2))
		for range turns {
			n := random.Uint64N(24)
			id, value := block.TaskResult(n), content(n, int(n)*200)
			switch random.IntN(5) {
			case 0, 1:
				_ = store.Put(id, value, levels[n%3])
			case 2:
				store.Remove(id)
			default:
				reader, err := store.Open(id)
				if err != nil {
					continue
				}
				got, err := reader.Bytes(0, reader.Size())
				if err != nil || !bytes.Equal(got, value) {
					t.Errorf("%s: %d bytes, error %v", id, len(got), err)
				}
				reader.Release()
			}
		}
	}
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() { use(worker, 400) })
	}
	workers.Wait()
	status := store.Status()
	require.LessOrEqual(t, status.Memory, int64(16*kib))
	onDisk := 0
	for _, b := range status.Blocks {
		require.Zero(t, b.Pins, b.ID)
		if b.OnDisk {
			onDisk++
		}
	}
	require.Len(t, files(t, directory), onDisk, "no file without a block")
	for worker := range 8 {
		workers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 3))
			for range 50 {
				_ = store.Put(block.TaskResult(random.Uint64N(100)), content(1, 4*kib), block.MemoryAndDisk)
			}
		})
	}
	store.Close()
	workers.Wait()
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Blocks that are being written to files do not count towards the memory limit, so
// concurrent puts do not move more blocks to disk than needed.
func TestConcurrentPutsKeepMemoryFull(t *testing.T) {
	store, _ := newStore(t, 4*kib)
	for round := range uint64(50) {
		var puts sync.WaitGroup
		for worker := range uint64(4) {
			puts.Go(func() {
				if err := store.Put(block.TaskResult(4*round+worker), content(worker, kib), block.MemoryAndDisk); err != nil {
					t.Error(err)
				}
			})
		}
		puts.Wait()
		require.EqualValues(t, 4*kib, store.Status().Memory)
	}
}

func TestCloseWhileFilesAreWritten(t *testing.T) {
	directory := t.TempDir()
	for range 50 {
		store := block.New(block.Options{Directory: directory})
		var puts sync.WaitGroup
		var begun sync.WaitGroup
		begun.Add(4)
		for worker := range uint64(4) {
			puts.Go(func() {
				begun.Done()
				for n := uint64(0); ; n++ {
					if store.Put(block.TaskResult(4*n+worker), content(1, kib), block.DiskOnly) != nil {
						return // the store is closed
					}
				}
			})
		}
		begun.Wait()
		store.Close()
		puts.Wait()
		left, err := os.ReadDir(directory)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func BenchmarkPutGet(b *testing.B) {
	for _, size := range []int{0, kib, 64 * kib} {
		b.Run(fmt.Sprintf("%d", size), func(b *testing.B) {
			store := block.New(block.Options{Memory: 1 << 30, Directory: b.TempDir()})
			defer store.Close()
			value := content(1, size)
			b.ReportAllocs()
			for n := uint64(0); b.Loop(); n++ {
				id := block.TaskResult(n)
				if err := store.Put(id, value, block.MemoryAndDisk); err != nil {
					b.Fatal(err)
				}
				reader, err := store.Open(id)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := reader.Bytes(0, reader.Size()); err != nil {
					b.Fatal(err)
				}
				reader.Release()
				store.Remove(id)
			}
		})
	}
}
