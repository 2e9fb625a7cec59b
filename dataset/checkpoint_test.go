package dataset_test

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

var (
	doubledSums = dataset.Define("doubled sums", func(_ *dataset.Plan, in *dataset.Of[dataset.KV[int64, int64]]) *dataset.Of[dataset.KV[int64, int64]] {
		return dataset.Reduce(dataset.MapValues(in, func(i int64) int64 { return 2 * i }), func(a, b int64) int64 { return a + b })
	})
	largeLines = dataset.Define("large lines", func(p *dataset.Plan, n numbers) *dataset.Of[[]byte] {
		return dataset.Map(source(p, n), func(i int64) []byte { return fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", int(i*20))) })
	})
	sortedLines = dataset.Define("sorted lines", func(_ *dataset.Plan, in *dataset.Of[[]byte]) *dataset.Of[[]byte] {
		return dataset.SortBy(in, func(line []byte) int { return -len(line) })
	})
	groups = dataset.Define("groups", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, iter.Seq[string]]] {
		return dataset.Group(byMod(p, n, 5, ""))
	})
)

func TestCheckpoint(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "checkpoint")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		all := largeLines.With(session, numbers{1000, 7})
		want, err := all.Collect(ctx)
		require.NoError(t, err)
		read, err := all.Checkpoint(ctx, directory)
		require.NoError(t, err)
		got, err := read.Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got)
		some, err := read.Take(ctx, 200)
		require.NoError(t, err)
		require.Equal(t, want[:200], some)

		// A checkpoint of a checkpoint, and of a data set computed from a checkpoint.
		again, err := read.Checkpoint(ctx, directory+"2")
		require.NoError(t, err)
		reversed, err := sortedLines.With(session, again).Checkpoint(ctx, directory+"3")
		require.NoError(t, err)
		got, err = reversed.Collect(ctx)
		require.NoError(t, err)
		slices.Reverse(want)
		require.Equal(t, want, got)

		_, err = all.Checkpoint(ctx, directory)
		require.ErrorIs(t, err, fs.ErrExist)
		_, err = groups.With(session, numbers{10, 1}).Checkpoint(ctx, directory+"4")
		require.ErrorContains(t, err, "cannot be written to a checkpoint")
		require.NoDirExists(t, directory+"4")
	})
	left, err := filepath.Glob(filepath.Join(filepath.Dir(directory), ".*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A checkpoint can be read after the executors that computed the original data set are
// lost. The data set that reads the checkpoint is partitioned by key like the original one.
func TestCheckpointCutsTheLineage(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "checkpoint")
	computed.Store(0)
	runWithMore(t, func(ctx context.Context, session *bobbin.Session, more *executors) {
		more.add("a")
		more.decommission("driver")
		sums, err := countedSums.With(session, counted.With(session, numbers{100, 20})).Checkpoint(ctx, directory)
		require.NoError(t, err)
		require.EqualValues(t, 100, computed.Load())
		more.add("b")
		more.lose("a")
		got, err := doubledSums.With(session, sums).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, map[int64]int64{0: 2 * 1683, 1: 2 * 1617, 2: 2 * 1650}, toMap(got))
		require.EqualValues(t, 100, computed.Load())
		stages := dataset.Summary(session)
		require.Contains(t, stages[len(stages)-1].Name, "Reduce at checkpoint_test.go")
		require.EqualValues(t, 3, stages[len(stages)-1].RecordsIn)
		require.Len(t, stages, 3, "the sums were shuffled again")
	})
}

// A second attempt of an application reuses the checkpoints of the first attempt.
func TestCheckpointOfAnEarlierAttempt(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "checkpoint")
	computed.Store(0)
	require.NoError(t, bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		for range 2 {
			session, err := bobbin.NewSession(ctx)
			require.NoError(t, err)
			read, err := counted.With(session, numbers{100, 4}).Checkpoint(ctx, directory)
			require.NoError(t, err)
			n, err := read.Len(ctx)
			require.NoError(t, err)
			require.EqualValues(t, 100, n)
			require.EqualValues(t, 100, computed.Load())
			session.Close()
		}
		return nil
	}))
}

func TestDamagedCheckpoints(t *testing.T) {
	change := func(t *testing.T, path string, change func(content []byte) []byte) {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, change(content), 0o600))
	}
	flip := func(content []byte) []byte { content[len(content)/2] ^= 4; return content }
	cut := func(content []byte) []byte { return content[:len(content)-1] }
	part := func(directory, name string) string { return filepath.Join(directory, name) }
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, directory string)
		err    string
	}{
		{"a part is changed", func(t *testing.T, d string) { change(t, part(d, "part-00001"), flip) }, "part-00001:8+"},
		{"a part is changed", func(t *testing.T, d string) { change(t, part(d, "part-00001"), flip) }, "remove the checkpoint, and make it again"},
		{"a part is cut", func(t *testing.T, d string) { change(t, part(d, "part-00001"), cut) }, "when it was written: remove the checkpoint"},
		{"a part is missing", func(t *testing.T, d string) { require.NoError(t, os.Remove(part(d, "part-00001"))) }, "part-00001 is missing"},
		{"the index is missing", func(t *testing.T, d string) { require.NoError(t, os.Remove(part(d, "part-00003"))) }, "not the index"},
		{"the index is changed", func(t *testing.T, d string) { change(t, part(d, "part-00003"), flip) }, "not the index"},
		{"all is gone", func(t *testing.T, d string) { require.NoError(t, os.RemoveAll(d)) }, "no such file"},
		{"there are no files", func(t *testing.T, d string) {
			require.NoError(t, os.RemoveAll(d))
			require.NoError(t, os.Mkdir(d, 0o700))
		}, "it has no files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "checkpoint")
			run(t, func(ctx context.Context, session *bobbin.Session) {
				read, err := largeLines.With(session, numbers{900, 3}).Checkpoint(ctx, directory)
				require.NoError(t, err)
				c.damage(t, directory)
				_, err = read.Len(ctx)
				require.ErrorContains(t, err, c.err)
				require.ErrorContains(t, err, "Checkpoint at checkpoint_test.go")
				require.ErrorContains(t, err, directory)
			})
		})
	}
}
