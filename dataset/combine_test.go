package dataset_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

type repeated struct{ Records, Keys int64 }

var repeatedSums = dataset.Define("sums of repeated keys", func(p *dataset.Plan, r repeated) *dataset.Of[dataset.KV[int64, int64]] {
	pairs := dataset.MapKV(dataset.Range(p, 0, r.Records, 1), func(i int64) (int64, int64) { return i % r.Keys, 1 })
	return dataset.Reduce(pairs, func(a, b int64) int64 { return a + b })
})

// A map task stops to merge if nearly all of its first 100,000 records have different keys.
// Each key occurs twice, the second time after these records.
func TestMergingBeforeAShuffle(t *testing.T) {
	for _, c := range []struct {
		name    string
		keys    repeated
		written int64 // records that the map task writes
	}{
		{"most keys are different", repeated{400_000, 200_000}, 400_000},
		{"half of the keys are different", repeated{200_000, 50_000}, 50_000},
		{"too few records to judge", repeated{99_998, 49_999}, 49_999},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(ctx context.Context, session *bobbin.Session) {
				sums, err := repeatedSums.With(session, c.keys).Collect(ctx)
				require.NoError(t, err)
				require.Len(t, sums, int(c.keys.Keys))
				each := c.keys.Records / c.keys.Keys
				require.False(t, slices.ContainsFunc(sums, func(sum dataset.KV[int64, int64]) bool { return sum.Value != each }))
				require.Equal(t, c.written, dataset.Summary(session)[0].RecordsOut)
			})
		})
	}
}
