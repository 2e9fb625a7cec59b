package dataset_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// chosenJoin describes a join of two files with lines "key value".
type chosenJoin struct {
	Left, Right string
	Join        string
	Shuffled    bool // the left side comes from a shuffle whose tasks call disturb
}

// chosenRows has the rows of the join.
var chosenRows = dataset.Define("chosen rows", func(p *dataset.Plan, c chosenJoin) *dataset.Of[string] {
	side := func(path string, shuffled bool) *dataset.Of[dataset.KV[string, string]] {
		lines := dataset.Text(p, path, dataset.SplitSize(20_000))
		if shuffled {
			lines = dataset.Repartition(dataset.MapPartitions(lines, func(_ *bobbin.Task, lines iter.Seq[[]byte]) iter.Seq2[[]byte, error] {
				disturb()
				return func(yield func([]byte, error) bool) {
					for line := range lines {
						if !yield(line, nil) {
							return
						}
					}
				}
			}), 300)
		}
		return dataset.MapKV(lines, func(line []byte) (string, string) {
			key, value, _ := bytes.Cut(line, []byte(" "))
			return string(key), strings.Repeat(string(value), 4)
		})
	}
	left, right := side(c.Left, c.Shuffled), side(c.Right, false)
	switch c.Join {
	case "LeftJoin":
		return dataset.LeftJoin(left, right, func(key, v string, w *string) string { return row(key, &v, w) })
	case "RightJoin":
		return dataset.RightJoin(left, right, func(key string, v *string, w string) string { return row(key, v, &w) })
	case "FullJoin":
		return dataset.FullJoin(left, right, row)
	default:
		return dataset.Join(left, right, func(key, v, w string) string { return row(key, &v, &w) })
	}
})

// chosenCounts has the number of occurrences of each row of the join.
var chosenCounts = dataset.Define("chosen counts", func(p *dataset.Plan, rows *dataset.Of[string]) *dataset.Of[dataset.KV[string, int64]] {
	return dataset.Count(rows)
})

func row(key string, v, w *string) string {
	none := "none"
	if v == nil {
		v = &none
	}
	if w == nil {
		w = &none
	}
	return key + " " + *v + " " + *w
}

// joinLines joins lines as chosenRows describes it, and counts each row.
func joinLines(join string, left, right []string) map[string]int64 {
	counts := map[string]int64{}
	key := func(line string) string { return strings.Fields(line)[0] }
	value := func(line string) *string {
		value := strings.Repeat(strings.Fields(line)[1], 4)
		return &value
	}
	matched := map[string]bool{}
	for _, l := range left {
		found := false
		for _, r := range right {
			if key(l) == key(r) {
				found, matched[key(r)] = true, true
				counts[row(key(l), value(l), value(r))]++
			}
		}
		if !found && (join == "LeftJoin" || join == "FullJoin") {
			counts[row(key(l), value(l), nil)]++
		}
	}
	for _, r := range right {
		if !matched[key(r)] && (join == "RightJoin" || join == "FullJoin") {
			counts[row(key(r), nil, value(r))]++
		}
	}
	return counts
}

// runBelow runs a driver function with the given dataset.autoBroadcastJoinThreshold.
func runBelow(t *testing.T, threshold string, f func(ctx context.Context, session *bobbin.Session)) {
	runWith(t, map[string]string{"master": "local[2]", "dataset.autoBroadcastJoinThreshold": threshold}, f)
}

// A join returns the same rows if either side is broadcast and if none is.
func TestAChosenJoinHasTheRowsOfAnyOther(t *testing.T) {
	directory := t.TempDir()
	disturb = func() {}
	runBelow(t, "500b", func(ctx context.Context, session *bobbin.Session) {
		n, broadcasts, shuffles := 0, 0, 0
		rapid.Check(t, func(t *rapid.T) {
			n++
			lines := func(side string) (path string, lines []string) {
				keys := rapid.IntRange(1, 20).Draw(t, "keys")
				for i := range rapid.IntRange(0, 100).Draw(t, side+" lines") {
					lines = append(lines, fmt.Sprintf("%d %s%d", rapid.IntRange(0, keys).Draw(t, "key"), side, i/2))
				}
				path = filepath.Join(directory, fmt.Sprint(n, side))
				require.NoError(t, os.WriteFile(path, []byte(strings.Join(append(lines, ""), "\n")), 0o600))
				return path, lines
			}
			c := chosenJoin{Join: rapid.SampledFrom([]string{"Join", "LeftJoin", "RightJoin", "FullJoin"}).Draw(t, "join"), Shuffled: rapid.Bool().Draw(t, "shuffled")}
			var left, right []string
			c.Left, left = lines("left")
			c.Right, right = lines("right")
			before := len(dataset.Summary(session))
			rows := chosenRows.With(session, c)
			counts, err := chosenCounts.With(session, rows).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, joinLines(c.Join, left, right), toMap(counts))
			length, err := rows.Len(ctx)
			require.NoError(t, err)
			var want int64
			for _, count := range counts {
				want += count.Value
			}
			require.Equal(t, want, length)
			for _, stage := range dataset.Summary(session)[before:] {
				if strings.Contains(stage.Division, " broadcasts its ") {
					require.NotEqual(t, "FullJoin", c.Join)
					broadcasts++
				}
				if strings.Contains(stage.Division, " shuffles both sides") {
					shuffles++
				}
			}
		})
		require.Positive(t, broadcasts)
		require.Positive(t, shuffles)
	})
}

// writeLines writes a file with the given number of lines "key value". The keys are 0, 1
// and so on.
func writeLines(t *testing.T, lines int, value string) (path string) {
	path = filepath.Join(t.TempDir(), "lines")
	var content strings.Builder
	for i := range lines {
		_, _ = fmt.Fprintf(&content, "%d %s\n", i, value)
	}
	require.NoError(t, os.WriteFile(path, []byte(content.String()), 0o600))
	return path
}

func TestTheSummarySaysWhichSideIsBroadcast(t *testing.T) {
	large, small := writeLines(t, 2000, strings.Repeat("large ", 10)), writeLines(t, 10, "small")
	disturb = func() {}
	runBelow(t, "300b", func(ctx context.Context, session *bobbin.Session) {
		for _, c := range []struct {
			chosenJoin
			rows   int64
			stages int
			why    string
		}{
			{chosenJoin{Left: large, Right: small, Join: "Join"}, 10, 2, `^Join at choose_join_test.go:\d+ broadcasts its right side with 210 B, at most 300 B: no shuffle of the other side$`},
			{chosenJoin{Left: small, Right: large, Join: "RightJoin"}, 2000, 2, `^RightJoin at .* broadcasts its left side`},
			{chosenJoin{Left: small, Right: large, Join: "LeftJoin"}, 10, 3, `^\d+ partitions`},
			{chosenJoin{Left: large, Right: large, Join: "Join"}, 2000, 3, `^\d+ partitions`},
			// The files are smaller than the threshold, but the elements made from them are
			// larger.
			{chosenJoin{Left: large, Right: writeLines(t, 200, "small"), Join: "Join"}, 200, 3,
				`^Join at choose_join_test.go:\d+ shuffles both sides, as its right side has 4.5 kB, more than 300 B; 256 partitions`},
		} {
			before := len(dataset.Summary(session))
			rows, err := chosenRows.With(session, c.chosenJoin).Len(ctx)
			require.NoError(t, err)
			require.Equal(t, c.rows, rows)
			require.Len(t, dataset.Summary(session), before+c.stages)
			require.Regexp(t, c.why, lastDivision(session))
		}
	})
	runBelow(t, "0", func(ctx context.Context, session *bobbin.Session) {
		rows, err := chosenRows.With(session, chosenJoin{Left: large, Right: small, Join: "Join"}).Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 10, rows)
		require.Regexp(t, `^256 partitions`, lastDivision(session))
	})
}

// The output of the small side is lost after it was measured and before the join reads it.
func TestALostBroadcastSideIsComputedAgain(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	var once sync.Once
	lost := 0
	disturb = func() {
		once.Do(func() {
			files, err := filepath.Glob(filepath.Join(temporary, "*", "*.data"))
			require.NoError(t, err)
			for _, file := range files {
				require.NoError(t, os.Remove(file))
				lost++
			}
		})
	}
	c := chosenJoin{Left: writeLines(t, 2000, strings.Repeat("large ", 10)), Right: writeLines(t, 10, "small"), Join: "LeftJoin", Shuffled: true}
	runBelow(t, "10m", func(ctx context.Context, session *bobbin.Session) {
		rows, err := chosenRows.With(session, c).Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 2000, rows)
		require.Contains(t, lastDivision(session), "broadcasts its right side")
	})
	require.Equal(t, 1, lost)
}
