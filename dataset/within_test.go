package dataset_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// divided describes a data set of the numbers 0 to N-1. The partition of a number is the
// number modulo Partitions, plus Shift.
type divided struct {
	N, Partitions int
	Shift         int
}

var (
	repartitionedSorted = dataset.Define("repartitionedSorted", func(p *dataset.Plan, d divided) *dataset.Of[string] {
		pairs := dataset.MapKV(shuffled(p, d.N), func(i int64) (int64, string) { return i, fmt.Sprint(i) })
		sorted := dataset.RepartitionAndSortWithinPartitions(pairs, d.Partitions, func(e dataset.KV[int64, string]) int {
			return int(e.Key)%d.Partitions + d.Shift
		})
		return dataset.Values(sorted)
	})
	sortedWithin = dataset.Define("sorted within", func(p *dataset.Plan, n int) *dataset.Of[int64] {
		return dataset.Keys(dataset.SortWithinPartitions(dataset.MapKV(shuffled(p, n), func(i int64) (int64, []byte) { return i, []byte("x") })))
	})
	splitsOf = dataset.Define("splits", func(p *dataset.Plan, in string) *dataset.Of[string] {
		return dataset.Files(p, "Names", in, func(in *dataset.FileSplit, emit func(string) bool) error {
			emit(fmt.Sprint(in.Task.Index(), filepath.Base(in.Split.Path)))
			return nil
		}, dataset.SeparateSplits())
	})
)

// shuffled returns the numbers 0 to n-1 in two partitions, in random order.
func shuffled(p *dataset.Plan, n int) *dataset.Of[int64] {
	return dataset.Generate(p, 2, func(partition int, yield func(int64) bool) {
		for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
			if i%2 == partition && !yield(int64(i)) {
				return
			}
		}
	})
}

func TestRepartitionAndSortWithinPartitions(t *testing.T) {
	const n = 5000
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		require.NoError(t, repartitionedSorted.With(session, divided{N: n, Partitions: 7}).Save(ctx, out, dataset.AsText))
		require.NoError(t, repartitionedSorted.With(session, divided{N: 2, Partitions: 4}).Save(ctx, out+"-few", dataset.AsText))
		_, err := repartitionedSorted.With(session, divided{N: n, Partitions: 7, Shift: 1}).Collect(ctx)
		require.ErrorContains(t, err, "the partition of an element is 7: want 0 to 6")
		_, err = repartitionedSorted.With(session, divided{N: n}).Collect(ctx)
		require.ErrorContains(t, err, "the number of partitions must be at least 1")
	})
	for part := range 7 {
		content, err := os.ReadFile(filepath.Join(out, fmt.Sprintf("part-%05d", part)))
		require.NoError(t, err)
		var want strings.Builder
		for i := part; i < n; i += 7 {
			fmt.Fprintln(&want, i)
		}
		require.Equal(t, want.String(), string(content))
	}
	parts, err := filepath.Glob(filepath.Join(out+"-few", "part-*"))
	require.NoError(t, err)
	require.Len(t, parts, 4, "a partition without elements has a file, too")
}

func TestSortWithinPartitions(t *testing.T) {
	var want []int64
	for _, first := range []int64{0, 1} {
		for i := first; i < 1000; i += 2 {
			want = append(want, i)
		}
	}
	require.Equal(t, want, collect(t, sortedWithin, 1000))
}

func TestSeparateSplits(t *testing.T) {
	in := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, os.WriteFile(filepath.Join(in, name), []byte(name), 0o600))
	}
	require.Equal(t, []string{"0a", "1b", "2c"}, collect(t, splitsOf, in))
}
