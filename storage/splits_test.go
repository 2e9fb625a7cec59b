package storage

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestSplitFile(t *testing.T) {
	for _, test := range []struct {
		name    string
		size    int64
		block   int64
		options SplitOptions
		want    []int64 // lengths of the splits
	}{
		{name: "empty", size: 0, want: nil},
		{name: "one block", size: 100, block: 100, want: []int64{100}},
		{name: "two blocks", size: 200, block: 100, want: []int64{100, 100}},
		{name: "a tenth more", size: 210, block: 100, want: []int64{100, 110}},
		{name: "more than a tenth", size: 211, block: 100, want: []int64{100, 100, 11}},
		{name: "asked for", size: 100, block: 100, options: SplitOptions{Size: 40}, want: []int64{40, 40, 20}},
		{name: "on disk", size: 2*localSplitSize + 1<<25, want: []int64{localSplitSize, localSplitSize, localSplitSize}},
		{name: "single bytes", size: 3, options: SplitOptions{Size: 1}, want: []int64{1, 1, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var lengths []int64
			var next int64
			for _, s := range splitFile(entry{Info: Info{Name: "a", Size: test.size, BlockSize: test.block}}, test.options) {
				require.Equal(t, next, s.Offset)
				lengths = append(lengths, s.Length)
				next += s.Length
			}
			require.Equal(t, test.want, lengths)
			require.Equal(t, test.size, next)
		})
	}
}

func TestHostsAreOrderedByTheirBytes(t *testing.T) {
	blocks := []block{
		{0, 100, []string{"a", "b"}},
		{100, 100, []string{"b", "c"}},
		{200, 50, []string{"c", "d"}},
	}
	for _, test := range []struct {
		offset, length int64
		want           []string
	}{
		{0, 100, []string{"a", "b"}},
		{0, 200, []string{"b", "a", "c"}},
		{90, 110, []string{"b", "c", "a"}},
		{150, 100, []string{"c", "b", "d"}},
		{0, 250, []string{"b", "c", "a", "d"}},
		{200, 1, []string{"c", "d"}},
		{250, 10, nil},
	} {
		require.Equal(t, test.want, hostsOf(blocks, test.offset, test.length), "%d+%d", test.offset, test.length)
	}
	var many block
	many.length = 1
	for i := range 9 {
		many.hosts = append(many.hosts, fmt.Sprint(i))
	}
	require.Len(t, hostsOf([]block{many}, 0, 1), maxHosts)
}

func TestHostsHoldBytesOfTheirSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var blocks []block
		var size int64
		for range rapid.IntRange(1, 20).Draw(t, "blocks") {
			length := rapid.Int64Range(1, 50).Draw(t, "length")
			hosts := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g"}), 0, 3, rapid.ID[string]).Draw(t, "hosts")
			blocks = append(blocks, block{size, length, hosts})
			size += length
		}
		file := entry{Info: Info{Name: "a", Size: size, BlockSize: 10}, blocks: blocks}
		for _, s := range splitFile(file, SplitOptions{Size: rapid.Int64Range(1, 100).Draw(t, "size")}) {
			held := map[string]int64{}
			for _, b := range blocks {
				for i := max(b.offset, s.Offset); i < min(b.offset+b.length, s.Offset+s.Length); i++ {
					for _, host := range b.hosts {
						held[host]++
					}
				}
			}
			require.Len(t, s.Hosts, min(len(held), maxHosts))
			for i, host := range s.Hosts {
				require.Positive(t, held[host])
				if i > 0 {
					require.LessOrEqual(t, held[host], held[s.Hosts[i-1]])
				}
			}
		}
	})
}

// emptySystem has no files.
type emptySystem struct{ fileSystem }

func (emptySystem) stat(context.Context, string, bool) (entry, error) {
	return entry{}, &fs.PathError{Op: "stat", Path: "hdfs://cluster1/a", Err: fs.ErrNotExist}
}

func TestMissingHDFSFileHintsAtTheLocalOne(t *testing.T) {
	files := New(Options{Hadoop: conf.FromMap(map[string]string{"fs.defaultFS": "hdfs://cluster1"}), User: "ann"})
	files.wrap = func(s fileSystem) fileSystem { return emptySystem{fileSystem: s} }
	path := filepath.Join(t.TempDir(), "input")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	for _, test := range []struct {
		path string
		hint bool
	}{{path, true}, {path + "2", false}, {"hdfs://cluster1" + path, false}} {
		_, err := files.Splits(t.Context(), test.path, SplitOptions{})
		require.ErrorIs(t, err, fs.ErrNotExist)
		if test.hint {
			require.ErrorContains(t, err, "write file://"+path)
		} else {
			require.NotContains(t, err.Error(), "file://")
		}
	}
	require.NoError(t, files.Close())
}

// countingSystem counts the calls that list a directory.
type countingSystem struct {
	fileSystem
	lists atomic.Int64
}

func (s *countingSystem) list(ctx context.Context, path string, withBlocks bool) ([]entry, error) {
	s.lists.Add(1)
	return s.fileSystem.list(ctx, path, withBlocks)
}

func TestDirectoriesThatAreNotEnteredAreNotListed(t *testing.T) {
	root := t.TempDir()
	for day := range 30 {
		for hour := range 3 {
			dir := filepath.Join(root, fmt.Sprintf("day=%d/hour=%d", day, hour))
			require.NoError(t, os.MkdirAll(dir, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600))
		}
	}
	counted := &countingSystem{}
	files := New(Options{})
	files.wrap = func(s fileSystem) fileSystem { counted.fileSystem = s; return counted }
	splits, err := files.Splits(t.Context(), root, SplitOptions{Enter: func(directory string) bool {
		name := filepath.Base(directory)
		return !strings.HasPrefix(name, "day=") || name == "day=7"
	}})
	require.NoError(t, err)
	require.Len(t, splits, 3)
	require.EqualValues(t, 1+1+3, counted.lists.Load(), "the root, a day and its hours")
}
