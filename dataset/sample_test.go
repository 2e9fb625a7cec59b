package dataset_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

type sampling struct {
	Numbers     numbers
	Probability float64
	Seed        uint64
}

var sampledNumbers = dataset.Define("sampled", func(p *dataset.Plan, s sampling) *dataset.Of[int64] {
	return dataset.Sample(source(p, s.Numbers), s.Probability, s.Seed)
})

func TestSample(t *testing.T) {
	n := numbers{N: 10_000, Partitions: 4}
	run(t, func(ctx context.Context, session *bobbin.Session) {
		sample := func(probability float64, seed uint64) []int64 {
			elements, err := sampledNumbers.With(session, sampling{n, probability, seed}).Collect(ctx)
			require.NoError(t, err)
			return elements
		}
		require.Empty(t, sample(0, 1))
		require.Len(t, sample(1, 1), n.N)
		quarter := sample(0.25, 1)
		require.InDelta(t, n.N/4, len(quarter), 200, "the standard deviation is 43")
		require.True(t, slices.IsSorted(quarter), "the elements are not in the order of the input")
		require.Len(t, slices.Compact(slices.Clone(quarter)), len(quarter), "an element is there twice")
		require.True(t, quarter[0] >= 0 && quarter[len(quarter)-1] < int64(n.N))
		for partition := range int64(4) {
			low, _ := slices.BinarySearch(quarter, partition*2500)
			high, _ := slices.BinarySearch(quarter, (partition+1)*2500)
			require.InDelta(t, 625, high-low, 110, "partition %d", partition)
		}
		require.Equal(t, quarter, sample(0.25, 1))
		require.NotEqual(t, quarter, sample(0.25, 2))
		for _, invalid := range []float64{-0.1, 1.1} {
			_, err := sampledNumbers.With(session, sampling{n, invalid, 1}).Collect(ctx)
			require.ErrorContains(t, err, "want 0 to 1")
			require.ErrorContains(t, err, "Sample at sample_test.go")
		}
	})
}
