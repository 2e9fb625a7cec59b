package dataset_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// lastDivision returns the Division in the summary of the stage that ended last.
func lastDivision(session *bobbin.Session) string {
	stages := dataset.Summary(session)
	return stages[len(stages)-1].Division
}

// frequentSorted returns sorted keys, four fifths of which are equal. They are sorted together
// with values that cannot be compressed.
var frequentSorted = dataset.Define("frequent sorted", func(p *dataset.Plan, n int64) *dataset.Of[string] {
	pairs := dataset.MapKV(dataset.Range(p, 0, n, 4), func(i int64) (string, []byte) {
		random, value := rand.New(rand.NewPCG(1, uint64(i))), make([]byte, 0, 200)
		for len(value) < cap(value) {
			value = binary.BigEndian.AppendUint64(value, random.Uint64())
		}
		if i%5 > 0 {
			return "frequent", value
		}
		return "key" + strconv.FormatInt(i, 10), value
	})
	return dataset.Keys(dataset.SortByKey(pairs))
})

func TestFrequentSortKeyIsSplitAmongTasks(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	run(t, func(ctx context.Context, session *bobbin.Session) {
		sorted := frequentSorted.With(session, 30_000)
		require.NoError(t, sorted.Save(ctx, out, dataset.AsText))
		require.Contains(t, lastDivision(session), "ranges by sampled keys of SortByKey at explain_division_test.go")
		require.Contains(t, lastDivision(session), "frequent keys with several ranges: 1;")
		require.Contains(t, lastDivision(session), "partitions with ")
	})
	frequent, last := 0, ""
	for _, name := range files(t, out) {
		content, err := os.ReadFile(filepath.Join(out, name))
		require.NoError(t, err)
		lines := strings.Fields(string(content))
		require.LessOrEqual(t, last, lines[0])
		last = lines[len(lines)-1]
		if strings.Contains(string(content), "frequent\n") {
			frequent++
		}
	}
	require.Greater(t, frequent, 1, "parts with the frequent key")
}

var (
	perKey = dataset.Define("values per key", func(p *dataset.Plan, n int64) *dataset.Of[dataset.KV[int64, int64]] {
		return dataset.Count(dataset.Map(dataset.Range(p, 0, n, 4), func(i int64) int64 { return i % 100 }))
	})
	joinedCounts = dataset.Define("joined counts", func(p *dataset.Plan, sides [2]*dataset.Of[dataset.KV[int64, int64]]) *dataset.Of[int64] {
		return dataset.Join(sides[0], sides[1], func(_, v, w int64) int64 { return v * w })
	})
)

func TestCopartitionedJoinNeedsNoShuffle(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		sides := [2]*dataset.Of[dataset.KV[int64, int64]]{perKey.With(session, 1000), perKey.With(session, 2000)}
		for _, side := range sides {
			_, err := side.Len(ctx)
			require.NoError(t, err)
		}
		before := len(dataset.Summary(session))
		products, err := joinedCounts.With(session, sides).Collect(ctx)
		require.NoError(t, err)
		require.Len(t, products, 100)
		require.EqualValues(t, 10*20, products[0])
		require.Len(t, dataset.Summary(session), before+1, "the shuffles of the counts are there, and the join has none")
		require.Regexp(t, `^Count at explain_division_test.go:\d+ is divided by the keys of Join at explain_division_test.go:\d+: no shuffle; Count`, lastDivision(session))
		require.Regexp(t, `; 256 partitions with \d.* kB: 1 tasks of about 1.0 MB$`, lastDivision(session))
	})
}

func TestSummaryExplainsTheDivisionOfASkewedJoin(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := skewedJoin.With(session, skew{Join: "Join"}).Len(ctx)
		require.NoError(t, err)
		require.Regexp(t, `; 1 skewed partitions, the largest with [\d.]+ MB, the median one with [\d.]+ kB: \d pieces$`, lastDivision(session))
		require.Contains(t, dataset.Summary(session)[0].String(), "0 B spilled", "a stage that reads no shuffle has nothing to choose")
	})
}
