package dataset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

var (
	panicsInMap = dataset.Define("panics in Map", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		return dataset.Map(source(p, n), func(i int64) int64 { return 100 / (i - 3) })
	})
	panicsInReduce = dataset.Define("panics in Reduce", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, int64]] {
		pairs := dataset.MapKV(source(p, n), func(i int64) (int64, int64) { return i % 3, i })
		return dataset.Reduce(pairs, func(int64, int64) int64 { panic("no sum") })
	})
)

func TestPanicsInFunctionsFailTheJob(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := panicsInMap.With(session, numbers{10, 2}).Collect(ctx)
		require.ErrorContains(t, err, "Map at panic_test.go")
		require.ErrorContains(t, err, "panic: runtime error: integer divide by zero")
		_, err = panicsInReduce.With(session, numbers{10, 2}).Collect(ctx)
		require.ErrorContains(t, err, "Reduce at panic_test.go")
		require.ErrorContains(t, err, "panic: no sum")
		got, err := reduced.With(session, numbers{10, 2}).Collect(ctx)
		require.NoError(t, err)
		require.Len(t, got, 7)
	})
}
