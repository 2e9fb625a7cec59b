package dataset_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

type numbers struct {
	N, Partitions int
}

func source(p *dataset.Plan, n numbers) *dataset.Of[int64] {
	return dataset.Range(p, 0, int64(n.N), n.Partitions)
}

type pair = dataset.KV[int64, string]

// byMod keys the numbers by their remainder.
func byMod(p *dataset.Plan, n numbers, mod int64, prefix string) *dataset.Of[pair] {
	return dataset.MapKV(source(p, n), func(i int64) (int64, string) { return i % mod, fmt.Sprint(prefix, i) })
}

var (
	mapped = dataset.Define("mapped", func(p *dataset.Plan, n numbers) *dataset.Of[string] {
		even := dataset.Filter(source(p, n), func(i int64) bool { return i%2 == 0 })
		return dataset.Map(even, func(i int64) string { return fmt.Sprint(i) })
	})
	failing = dataset.Define("failing", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		return dataset.TryMap(source(p, n), func(i int64) (int64, error) {
			if i == 3 {
				return 0, errors.New("three is no number")
			}
			return i, nil
		})
	})
	united = dataset.Define("united", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		flat := dataset.FlatMap(source(p, n), func(i int64) iter.Seq[int64] { return slices.Values([]int64{i, -i}) })
		return dataset.Union(source(p, n), flat, source(p, n))
	})
	reduced = dataset.Define("reduced", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, int64]] {
		return dataset.Reduce(dataset.MapKV(source(p, n), func(i int64) (int64, int64) { return i % 7, i }), func(a, b int64) int64 { return a + b })
	})
	folded = dataset.Define("folded", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, []string]] {
		return dataset.Fold(byMod(p, n, 3, ""), func(list []string, s string) []string { return append(list, s) },
			func(a, b []string) []string { return append(a, b...) })
	})
	grouped = dataset.Define("grouped", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, int]] {
		return dataset.MapValues(dataset.Group(byMod(p, n, 5, "")), func(values iter.Seq[string]) int {
			return len(slices.Collect(values))
		})
	})
	firsts = dataset.Define("first of each group", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, bool]] {
		return dataset.MapValues(dataset.Group(byMod(p, n, 5, "")), func(values iter.Seq[string]) bool {
			for range values {
				return true
			}
			return false
		})
	})
	distinct = dataset.Define("distinct", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		return dataset.Distinct(dataset.Map(source(p, n), func(i int64) int64 { return i % 11 }))
	})
	joined = dataset.Define("joined", func(p *dataset.Plan, n numbers) *dataset.Of[string] {
		left, right := byMod(p, n, 4, "l"), byMod(p, numbers{8, 2}, 6, "r")
		return dataset.Join(left, right, func(k int64, l, r string) string { return fmt.Sprint(k, l, r) })
	})
	fullJoined = dataset.Define("full join", func(p *dataset.Plan, n numbers) *dataset.Of[string] {
		left, right := byMod(p, n, 4, "l"), byMod(p, numbers{8, 2}, 6, "r")
		return dataset.FullJoin(left, right, func(k int64, l, r *string) string { return fmt.Sprint(k, orNone(l), orNone(r)) })
	})
	coGrouped = dataset.Define("co-grouped", func(p *dataset.Plan, n numbers) *dataset.Of[string] {
		left, right := byMod(p, n, 4, "l"), byMod(p, numbers{8, 2}, 6, "r")
		return dataset.Map(dataset.CoGroup(left, right), func(e dataset.KV[int64, dataset.Both[string, string]]) string {
			return fmt.Sprint(e.Key, slices.Sorted(e.Value.Left), slices.Sorted(e.Value.Right))
		})
	})
	sorted = dataset.Define("sorted", func(p *dataset.Plan, n numbers) *dataset.Of[string] {
		return dataset.Sort(dataset.Map(source(p, n), func(i int64) string { return fmt.Sprint(i * 7919 % 10007) }))
	})
	descending = dataset.Define("descending", func(p *dataset.Plan, n numbers) *dataset.Of[string] {
		words := dataset.Map(source(p, n), func(i int64) string { return strings.Repeat("\x00\xff"[i%2:i%2+1], int(i%5)) + fmt.Sprint(i*7919%107) })
		return dataset.SortByDescending(words, func(s string) string { return s })
	})
)

func orNone(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

func collect[A, T any](t *testing.T, d *dataset.Definition[A, T], arguments A) (elements []T) {
	t.Helper()
	run(t, func(ctx context.Context, session *bobbin.Session) {
		var err error
		elements, err = d.With(session, arguments).Collect(ctx)
		require.NoError(t, err)
	})
	return elements
}

func toMap[K comparable, V any](elements []dataset.KV[K, V]) map[K]V {
	m := map[K]V{}
	for _, e := range elements {
		m[e.Key] = e.Value
	}
	return m
}

func TestOperators(t *testing.T) {
	n := numbers{N: 1000, Partitions: 7}
	require.Equal(t, []string{"0", "2", "4", "6", "8"}, collect(t, mapped, numbers{10, 3}))
	require.Len(t, collect(t, united, numbers{10, 3}), 40)
	require.Empty(t, collect(t, mapped, numbers{0, 3}))

	sums := map[int64]int64{}
	for i := range int64(1000) {
		sums[i%7] += i
	}
	got := collect(t, reduced, n)
	require.Len(t, got, 7)
	require.Equal(t, sums, toMap(got))

	lists := toMap(collect(t, folded, n))
	require.Len(t, lists, 3)
	require.Len(t, lists[0], 334)

	require.Equal(t, map[int64]int{0: 200, 1: 200, 2: 200, 3: 200, 4: 200}, toMap(collect(t, grouped, n)))
	require.Len(t, collect(t, firsts, n), 5)
	require.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, slices.Sorted(slices.Values(collect(t, distinct, n))))
}

func TestJoins(t *testing.T) {
	n := numbers{N: 10, Partitions: 3}
	lefts, rights := map[int64][]string{}, map[int64][]string{}
	for i := range int64(10) {
		lefts[i%4] = append(lefts[i%4], fmt.Sprint("l", i))
	}
	for i := range int64(8) {
		rights[i%6] = append(rights[i%6], fmt.Sprint("r", i))
	}
	var inner, full, groups []string
	for k := range int64(6) {
		for _, l := range lefts[k] {
			for _, r := range rights[k] {
				inner = append(inner, fmt.Sprint(k, l, r))
			}
		}
		l, r := lefts[k], rights[k]
		groups = append(groups, fmt.Sprint(k, l, r))
		if len(l) == 0 {
			l = []string{"none"}
		}
		if len(r) == 0 {
			r = []string{"none"}
		}
		for _, left := range l {
			for _, right := range r {
				full = append(full, fmt.Sprint(k, left, right))
			}
		}
	}
	require.ElementsMatch(t, inner, collect(t, joined, n))
	require.ElementsMatch(t, full, collect(t, fullJoined, n))
	require.ElementsMatch(t, groups, collect(t, coGrouped, n))
}

func TestSort(t *testing.T) {
	got := collect(t, sorted, numbers{N: 5000, Partitions: 5})
	require.Len(t, got, 5000)
	require.True(t, slices.IsSorted(got))
	require.Empty(t, collect(t, sorted, numbers{N: 0, Partitions: 5}))

	got = collect(t, descending, numbers{N: 500, Partitions: 5})
	require.Len(t, got, 500)
	require.True(t, slices.IsSortedFunc(got, func(a, b string) int { return cmp.Compare(b, a) }))
}

func TestActions(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		all := mapped.With(session, numbers{1000, 10})
		n, err := all.Len(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 500, n)
		for _, want := range []int{0, 1, 3, 120, 1000} {
			taken, err := all.Take(ctx, want)
			require.NoError(t, err)
			require.Len(t, taken, min(want, 500))
		}
		_, err = failing.With(session, numbers{10, 2}).Collect(ctx)
		require.ErrorContains(t, err, "three is no number")
		require.ErrorContains(t, err, "TryMap at operators_test.go")
	})
}

type ranks struct {
	Links *dataset.Of[dataset.KV[string, []string]]
	Ranks *dataset.Of[dataset.KV[string, float64]]
}

var (
	links = dataset.Define("links", func(p *dataset.Plan, edges [][2]string) *dataset.Of[dataset.KV[string, []string]] {
		pairs := dataset.MapKV(dataset.Slice(p, edges, 3), func(e [2]string) (string, string) { return e[0], e[1] })
		return dataset.MapValues(dataset.Group(pairs), func(to iter.Seq[string]) []string { return slices.Sorted(to) })
	})
	initial = dataset.Define("initial ranks", func(_ *dataset.Plan, links *dataset.Of[dataset.KV[string, []string]]) *dataset.Of[dataset.KV[string, float64]] {
		return dataset.MapValues(links, func([]string) float64 { return 1 })
	})
	step = dataset.Define("step", func(_ *dataset.Plan, s ranks) *dataset.Of[dataset.KV[string, float64]] {
		sent := dataset.Flatten(dataset.Join(s.Links, s.Ranks, func(_ string, to []string, rank float64) []dataset.KV[string, float64] {
			shares := make([]dataset.KV[string, float64], len(to))
			for i, page := range to {
				shares[i] = dataset.KV[string, float64]{Key: page, Value: rank / float64(len(to))}
			}
			return shares
		}))
		summed := dataset.Reduce(sent, func(a, b float64) float64 { return a + b })
		return dataset.MapValues(summed, func(r float64) float64 { return 0.15 + 0.85*r })
	})
)

func TestIterationOverCachedData(t *testing.T) {
	edges := [][2]string{{"a", "b"}, {"a", "c"}, {"b", "c"}, {"c", "a"}, {"d", "c"}}
	out := map[string][]string{}
	for _, e := range edges {
		out[e[0]] = append(out[e[0]], e[1])
	}
	want := map[string]float64{}
	for page := range out {
		want[page] = 1
	}
	for range 5 {
		next := map[string]float64{}
		for _, page := range slices.Sorted(maps.Keys(want)) {
			for _, to := range out[page] {
				next[to] += want[page] / float64(len(out[page]))
			}
		}
		for page := range next {
			next[page] = 0.15 + 0.85*next[page]
		}
		want = next
	}
	run(t, func(ctx context.Context, session *bobbin.Session) {
		s := ranks{Links: links.With(session, edges).Cache(dataset.MemoryThenDisk)}
		s.Ranks = initial.With(session, s.Links)
		for range 5 {
			s.Ranks = step.With(session, s)
		}
		got, err := s.Ranks.Collect(ctx)
		require.NoError(t, err)
		require.InDeltaMapValues(t, want, toMap(got), 1e-9)
	})
}

var (
	unequal  = 0
	unstable = dataset.Define("unstable", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		unequal++
		if unequal%2 == 0 {
			return dataset.Filter(source(p, n), func(int64) bool { return true })
		}
		return source(p, n)
	})
	badKey = dataset.Define("bad key", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[float64, int64]] {
		return dataset.Count(dataset.Map(source(p, n), func(i int64) float64 { zero := float64(0); return zero / zero }))
	})
	mapKey = dataset.Define("map key", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[map[string]int, int64]] {
		return dataset.Count(dataset.Map(source(p, n), func(i int64) map[string]int { return nil }))
	})
)

var (
	clock     int64 // stands for a clock that a plan function reads
	clockRead = dataset.Define("clock read", func(p *dataset.Plan, operator string) *dataset.Of[int64] {
		clock++
		numbers := dataset.Range(p, 0, 10, 2)
		switch operator {
		case "Range":
			return dataset.Range(p, 0, clock, 2)
		case "Slice":
			return dataset.Slice(p, []int64{1, clock}, 1)
		case "Sample":
			return dataset.Sample(numbers, 0.5, uint64(clock))
		case "TopN":
			return dataset.TopN(numbers, int(clock), func(a, b int64) bool { return a < b })
		case "Repartition":
			return dataset.Repartition(numbers, int(clock))
		case "Coalesce":
			return dataset.Coalesce(numbers, int(clock))
		case "Text":
			return dataset.Map(dataset.Text(p, fmt.Sprint(clock)), func(line []byte) int64 { return int64(len(line)) })
		case "Pipe":
			return dataset.Map(dataset.Pipe(dataset.Text(p, "in"), "head", fmt.Sprint(clock)), func(line []byte) int64 { return int64(len(line)) })
		case "a slice of maps": // the maps are equal, but their encodings may differ
			return dataset.Map(dataset.Slice(p, []map[int]int{{1: 2, 3: 4, 5: 6}}, 1), func(m map[int]int) int64 { return int64(len(m)) })
		}
		panic(operator)
	})
)

func TestPlansThatChangeBetweenProcessesFail(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		for operator, named := range map[string]string{"Range": "Generate", "Slice": "Generate", "Sample": "", "TopN": "", "Repartition": "", "Coalesce": "", "Text": "", "Pipe": ""} {
			_, err := clockRead.With(session, operator).Collect(ctx)
			require.ErrorContains(t, err, "describes another data set each time", operator)
			require.ErrorContains(t, err, cmp.Or(named, operator)+" at operators_test.go")
			require.ErrorContains(t, err, "the clock")
		}
		got, err := clockRead.With(session, "a slice of maps").Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []int64{3}, got)
	})
}

func TestInvalidPlans(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := unstable.With(session, numbers{10, 2}).Collect(ctx)
		require.ErrorContains(t, err, `plan "unstable"`)
		require.ErrorContains(t, err, "Filter at operators_test.go")
		_, err = badKey.With(session, numbers{10, 2}).Collect(ctx)
		require.ErrorContains(t, err, "NaN")
		_, err = mapKey.With(session, numbers{10, 2}).Collect(ctx)
		require.ErrorContains(t, err, "map")
		require.ErrorContains(t, err, "Count at operators_test.go")
	})
}
