package dataset_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

type pairOfInputs struct{ Left, Right string }

var (
	sortedText = dataset.Define("sorted text", func(p *dataset.Plan, in string) *dataset.Of[[]byte] {
		return dataset.Sort(dataset.Text(p, in))
	})
	groupedText = dataset.Define("grouped text", func(p *dataset.Plan, in string) *dataset.Of[string] {
		groups := dataset.Group(dataset.KeyBy(dataset.Text(p, in), func(line []byte) string { return string(line) }))
		return dataset.Keys(groups)
	})
	joinedText = dataset.Define("joined text", func(p *dataset.Plan, in pairOfInputs) *dataset.Of[string] {
		byLine := func(path string) *dataset.Of[dataset.KV[string, int]] {
			return dataset.MapKV(dataset.Text(p, path), func(line []byte) (string, int) { return string(line), len(line) })
		}
		return dataset.FullJoin(byLine(in.Left), byLine(in.Right), func(key string, _, _ *int) string { return key })
	})
	// The tasks of disturbed call disturb before they read their input.
	disturb   func()
	disturbed = dataset.Define("disturbed", func(p *dataset.Plan, in string) *dataset.Of[string] {
		return dataset.MapPartitions(dataset.Text(p, in), func(_ *bobbin.Task, lines iter.Seq[[]byte]) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				disturb()
				for line := range lines {
					if !yield(string(line), nil) {
						return
					}
				}
			}
		})
	})
)

func TestEmptyInputs(t *testing.T) {
	directory := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	full := filepath.Join(t.TempDir(), "full")
	require.NoError(t, os.WriteFile(full, []byte("a\n"), 0o600))
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for i, in := range []string{directory, file} {
			for j, plan := range []*dataset.Definition[string, []byte]{wordCount, sortedText} {
				elements, err := plan.With(session, in).Collect(ctx)
				require.NoError(t, err)
				require.Empty(t, elements)
				elements, err = plan.With(session, in).Take(ctx, 3)
				require.NoError(t, err)
				require.Empty(t, elements)
				out := filepath.Join(t.TempDir(), fmt.Sprint(i, j))
				require.NoError(t, plan.With(session, in).Save(ctx, out, dataset.AsText))
				require.FileExists(t, filepath.Join(out, "_SUCCESS"))
			}
			groups, err := groupedText.With(session, in).Collect(ctx)
			require.NoError(t, err)
			require.Empty(t, groups)
			for inputs, want := range map[pairOfInputs][]string{{in, in}: nil, {in, full}: {"a"}, {full, in}: {"a"}} {
				keys, err := joinedText.With(session, inputs).Collect(ctx)
				require.NoError(t, err)
				require.Equal(t, want, keys)
			}
		}
	})
}

// After the job was planned, but before tasks read a file, the file vanishes, is replaced
// by a shorter file, or grows.
func TestInputFilesThatChangeDuringAJob(t *testing.T) {
	text := strings.Repeat("0123456\n", 1000)
	path := filepath.Join(t.TempDir(), "file")
	for _, c := range []struct {
		name   string
		change func() error
		lines  int // -1 means an error that names the file
	}{
		{"vanishes", func() error { return os.RemoveAll(path) }, -1},
		{"is cut", func() error { return os.WriteFile(path, []byte(text[:4000]), 0o600) }, -1},
		{"grows", func() error { return os.WriteFile(path, []byte(text+"7654321\n7654321\n"), 0o600) }, 1000},
		{"grows by a part of a line", func() error { return os.WriteFile(path, []byte(text+"7654321"), 0o600) }, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			disturb = func() { require.NoError(t, c.change()) }
			run(t, func(ctx context.Context, session *bobbin.Session) {
				lines, err := disturbed.With(session, path).Collect(ctx)
				if c.lines < 0 {
					require.ErrorContains(t, err, path)
					return
				}
				require.NoError(t, err)
				require.Len(t, lines, c.lines)
			})
		})
	}
}

// TestManySmallFiles also checks how much memory the driver needs for each file while the
// session is open.
func TestManySmallFiles(t *testing.T) {
	const files, directories = 100_000, 10
	directory := t.TempDir()
	for i := range directories {
		first := filepath.Join(directory, fmt.Sprint(i), "0")
		require.NoError(t, os.Mkdir(filepath.Dir(first), 0o700))
		require.NoError(t, os.WriteFile(first, []byte("to be or not to be\n"), 0o600))
		for j := 1; j < files/directories; j++ { // links are made faster than files
			require.NoError(t, os.Link(first, filepath.Join(filepath.Dir(first), fmt.Sprint(j))))
		}
	}
	run(t, func(ctx context.Context, session *bobbin.Session) {
		before := liveHeap()
		lines := textLines.With(session, directory)
		n, err := lines.Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, files, n)
		require.Less(t, float64(liveHeap()-before)/files, 500.0, "bytes of memory for each file")
		runtime.KeepAlive(lines)
	})
}

// liveHeap returns the size of the objects that are reachable, in bytes.
func liveHeap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
