package dataset_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

type topArguments struct {
	Numbers numbers
	N       int
}

// scrambled maps a number to another number. Some numbers are mapped to the same number.
func scrambled(i int64) int64 { return i * 7919 % 503 }

func byteLess(a, b []byte) bool { return bytes.Compare(a, b) < 0 }

var (
	topNumbers = dataset.Define("top numbers", func(p *dataset.Plan, a topArguments) *dataset.Of[int64] {
		return dataset.TopN(dataset.Map(source(p, a.Numbers), scrambled), a.N, func(a, b int64) bool { return a > b })
	})
	topWords = dataset.Define("top words", func(p *dataset.Plan, path string) *dataset.Of[[]byte] {
		return dataset.TopN(dataset.Text(p, path, dataset.SplitSize(100)), 3, byteLess)
	})
	total = dataset.Define("total", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		return dataset.ReduceAll(source(p, n), func(a, b int64) int64 { return a + b })
	})
	lastLine = dataset.Define("last line", func(p *dataset.Plan, path string) *dataset.Of[[]byte] {
		return dataset.ReduceAll(dataset.Text(p, path, dataset.SplitSize(100)), func(a, b []byte) []byte {
			if byteLess(a, b) {
				return b
			}
			return a
		})
	})
	lastLines = dataset.Define("last line of each length", func(p *dataset.Plan, path string) *dataset.Of[dataset.KV[int, []byte]] {
		lines := dataset.KeyBy(dataset.Text(p, path, dataset.SplitSize(100)), func(line []byte) int { return len(line) })
		return dataset.Reduce(lines, func(a, b []byte) []byte {
			if byteLess(a, b) {
				return b
			}
			return a
		})
	})
	coalesced = dataset.Define("coalesced", func(p *dataset.Plan, a topArguments) *dataset.Of[[]int64] {
		return partitionsOf(dataset.Coalesce(source(p, a.Numbers), a.N))
	})
	coalescedText = dataset.Define("coalesced text", func(p *dataset.Plan, path string) *dataset.Of[string] {
		return dataset.Map(dataset.Coalesce(dataset.Text(p, path, dataset.SplitSize(100)), 3), func(line []byte) string { return string(line) })
	})
	repartitioned = dataset.Define("repartitioned", func(p *dataset.Plan, a topArguments) *dataset.Of[[]int64] {
		return partitionsOf(dataset.Repartition(dataset.Map(source(p, a.Numbers), func(i int64) int64 { return i / 2 }), a.N))
	})
	zipped = dataset.Define("zipped", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, int64]] {
		odd := dataset.Filter(source(p, n), func(i int64) bool { return i%3 == 1 })
		return dataset.ZipWithIndex(odd)
	})
	zippedSorted = dataset.Define("zipped after a sort, then sorted", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, int64]] {
		ranks := dataset.ZipWithIndex(dataset.Sort(dataset.Map(source(p, n), scrambled)))
		return dataset.SortByDescending(dataset.ZipWithIndex(dataset.Values(ranks)), func(e dataset.KV[int64, int64]) int64 { return e.Key })
	})
	zippedText = dataset.Define("zipped text, sorted", func(p *dataset.Plan, path string) *dataset.Of[int64] {
		return dataset.Sort(dataset.Keys(dataset.ZipWithIndex(dataset.Text(p, path, dataset.SplitSize(1<<20)))))
	})
	changes             atomic.Int64
	changingOnRecompute = dataset.Define("unsteady", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[int64, int64]] {
		return dataset.ZipWithIndex(dataset.Filter(source(p, n), func(int64) bool { return changes.Add(1) <= 150 }))
	})
	keySorted = dataset.Define("sorted by key", func(p *dataset.Plan, n numbers) *dataset.Of[dataset.KV[string, int64]] {
		return dataset.SortByKey(dataset.MapKV(source(p, n), func(i int64) (string, int64) { return fmt.Sprint(scrambled(i)), i }))
	})
	visited atomic.Int64
	visits  = dataset.Define("visits", func(p *dataset.Plan, n numbers) *dataset.Of[struct{}] {
		return dataset.ForEachPartition(source(p, n), func(task *bobbin.Task, elements iter.Seq[int64]) error {
			for i := range elements {
				if i == 100 {
					return errors.New("a hundred is too many")
				}
				visited.Add(1)
			}
			return nil
		})
	})
)

// partitionsOf returns the elements of each partition, sorted.
func partitionsOf(in *dataset.Of[int64]) *dataset.Of[[]int64] {
	return dataset.MapPartitions(in, func(_ *bobbin.Task, elements iter.Seq[int64]) iter.Seq2[[]int64, error] {
		return func(yield func([]int64, error) bool) { yield(slices.Sorted(elements), nil) }
	})
}

func manyLines(t *testing.T) (path string, lines []string) {
	t.Helper()
	for i := range 200 {
		lines = append(lines, strconv.Itoa(i*7919%1009))
	}
	return write(t, "lines", strings.Join(lines, "\n")), lines
}

func TestTopN(t *testing.T) {
	var want []int64
	for i := range int64(1000) {
		want = append(want, scrambled(i))
	}
	slices.Sort(want)
	slices.Reverse(want)
	for _, n := range []int{1, 10, 99, 1000, 2000} {
		require.Equal(t, want[:min(n, 1000)], collect(t, topNumbers, topArguments{numbers{1000, 7}, n}))
	}
	require.Empty(t, collect(t, topNumbers, topArguments{numbers{0, 7}, 3}))
	path, lines := manyLines(t)
	slices.Sort(lines)
	var got []string
	for _, word := range collect(t, topWords, path) {
		got = append(got, string(word))
	}
	require.Equal(t, lines[:3], got)
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := topNumbers.With(session, topArguments{numbers{10, 2}, 0}).Len(ctx)
		require.ErrorContains(t, err, "TopN at more_operators_test.go")
	})
}

func TestReduceAll(t *testing.T) {
	require.Equal(t, []int64{499500}, collect(t, total, numbers{1000, 7}))
	require.Empty(t, collect(t, total, numbers{0, 7}))
	path, lines := manyLines(t)
	require.Equal(t, []string{slices.Max(lines)}, texts(collect(t, lastLine, path)))
	want := map[int]string{}
	for _, line := range lines {
		want[len(line)] = max(want[len(line)], line)
	}
	got := map[int]string{}
	for _, e := range collect(t, lastLines, path) {
		got[e.Key] = string(e.Value)
	}
	require.Equal(t, want, got)
}

func texts(all [][]byte) (converted []string) {
	for _, b := range all {
		converted = append(converted, string(b))
	}
	return converted
}

func TestCoalesceAndRepartition(t *testing.T) {
	for _, n := range []int{1, 3, 7, 20} {
		got := collect(t, coalesced, topArguments{numbers{1000, 7}, n})
		require.Len(t, got, min(n, 7))
		var all []int64
		for _, partition := range got {
			require.NotEmpty(t, partition)
			all = append(all, partition...)
		}
		require.Equal(t, collect(t, source1000, 7), all, "the order is kept")
	}
	path, lines := manyLines(t)
	require.Equal(t, lines, collect(t, coalescedText, path))

	got := collect(t, repartitioned, topArguments{numbers{1000, 7}, 5})
	require.Len(t, got, 5)
	var all []int64
	for _, partition := range got {
		require.Greater(t, len(partition), 100, "the partitions are about equal")
		require.Zero(t, len(partition)%2, "equal elements are together")
		all = append(all, partition...)
	}
	slices.Sort(all)
	for i, element := range all {
		require.EqualValues(t, i/2, element)
	}
	require.Equal(t, got, collect(t, repartitioned, topArguments{numbers{1000, 3}, 5}), "the partitions depend on the elements only")
}

var source1000 = dataset.Define("a thousand", func(p *dataset.Plan, partitions int) *dataset.Of[int64] {
	return source(p, numbers{1000, partitions})
})

func TestZipWithIndex(t *testing.T) {
	got := collect(t, zipped, numbers{1000, 7})
	require.Len(t, got, 333)
	for i, e := range got {
		require.Equal(t, dataset.KV[int64, int64]{Key: int64(i), Value: int64(3*i + 1)}, e)
	}
	var want []int64
	for i := range int64(1000) {
		want = append(want, scrambled(i))
	}
	slices.Sort(want)
	got = collect(t, zippedSorted, numbers{1000, 7})
	require.Len(t, got, 1000)
	for i, e := range got {
		require.Equal(t, dataset.KV[int64, int64]{Key: int64(999 - i), Value: want[999-i]}, e)
	}
	// A sort samples only a part of large files.
	indexes := collect(t, zippedText, write(t, "large", strings.Repeat(strings.Repeat("x", 99)+"\n", 30_000)))
	require.Len(t, indexes, 30_000)
	require.EqualValues(t, 29_999, indexes[29_999])
	changes.Store(0)
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := changingOnRecompute.With(session, numbers{100, 1}).Collect(ctx)
		require.ErrorContains(t, err, "must yield the same each time")
	})
}

func TestSortByKey(t *testing.T) {
	got := collect(t, keySorted, numbers{1000, 7})
	require.Len(t, got, 1000)
	seen := map[int64]bool{}
	for i, e := range got {
		require.Equal(t, fmt.Sprint(scrambled(e.Value)), e.Key)
		seen[e.Value] = true
		require.True(t, i == 0 || got[i-1].Key <= e.Key)
	}
	require.Len(t, seen, 1000)
}

func TestForEachPartition(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		visited.Store(0)
		require.NoError(t, visits.With(session, numbers{100, 7}).Run(ctx))
		require.EqualValues(t, 100, visited.Load())
		require.ErrorContains(t, visits.With(session, numbers{101, 7}).Run(ctx), "a hundred is too many")
	})
}

type joinArguments struct {
	Numbers numbers
	Shuffle bool // partition the large side by key first
}

var (
	broadcastJoined = dataset.Define("broadcast join", func(p *dataset.Plan, a joinArguments) *dataset.Of[string] {
		return dataset.BroadcastJoin(largeSide(p, a), byMod(p, numbers{8, 2}, 6, "r"), func(k int64, l, r string) string { return fmt.Sprint(k, l, r) })
	})
	leftBroadcastJoined = dataset.Define("left broadcast join", func(p *dataset.Plan, a joinArguments) *dataset.Of[string] {
		return dataset.LeftBroadcastJoin(largeSide(p, a), byMod(p, numbers{8, 2}, 6, "r"), func(k int64, l string, r *string) string {
			return fmt.Sprint(k, l, orNone(r))
		})
	})
	broadcastLines = dataset.Define("broadcast lines", func(p *dataset.Plan, path string) *dataset.Of[string] {
		keyed := dataset.KeyBy(dataset.Text(p, path, dataset.SplitSize(100)), func(line []byte) string { return string(line) })
		return dataset.BroadcastJoin(keyed, keyed, func(k string, a, b []byte) string { return k + string(a) + string(b) })
	})
	broadcastTwice = dataset.Define("two broadcast joins", func(p *dataset.Plan, n numbers) *dataset.Of[int64] {
		large := dataset.MapKV(source(p, n), func(i int64) (int64, int64) { return i % 10, i })
		small := dataset.MapKV(source(p, numbers{10, 3}), func(i int64) (int64, int64) { return i, 1000 * i })
		once := dataset.BroadcastJoin(large, small, func(k, a, b int64) dataset.KV[int64, int64] { return dataset.KV[int64, int64]{Key: k, Value: a + b} })
		return dataset.BroadcastJoin(once, small, func(_, a, b int64) int64 { return a + b })
	})
)

func largeSide(p *dataset.Plan, a joinArguments) *dataset.Of[pair] {
	if !a.Shuffle {
		return byMod(p, a.Numbers, 9, "l")
	}
	distinct := dataset.Distinct(source(p, a.Numbers))
	return dataset.MapKV(distinct, func(i int64) (int64, string) { return i % 9, fmt.Sprint("l", i) })
}

func TestBroadcastJoin(t *testing.T) {
	var inner, left []string
	for l := range int64(100) {
		found := false
		for r := range int64(8) {
			if r%6 == l%9 {
				found = true
				inner = append(inner, fmt.Sprint(l%9, fmt.Sprint("l", l), fmt.Sprint("r", r)))
			}
		}
		if !found {
			left = append(left, fmt.Sprint(l%9, fmt.Sprint("l", l), "none"))
		}
	}
	for _, shuffled := range []bool{false, true} {
		a := joinArguments{numbers{100, 7}, shuffled}
		require.ElementsMatch(t, inner, collect(t, broadcastJoined, a))
		require.ElementsMatch(t, append(slices.Clone(inner), left...), collect(t, leftBroadcastJoined, a))
	}
	require.Empty(t, collect(t, broadcastJoined, joinArguments{numbers{0, 1}, false}))

	path, lines := manyLines(t)
	for i, line := range lines {
		lines[i] = line + line + line
	}
	require.ElementsMatch(t, lines, collect(t, broadcastLines, path))

	var want []int64
	for i := range int64(50) {
		want = append(want, i+2000*(i%10))
	}
	require.Equal(t, want, collect(t, broadcastTwice, numbers{50, 4}))
}

type command struct {
	Numbers numbers
	Command []string
}

var piped = dataset.Define("piped", func(p *dataset.Plan, c command) *dataset.Of[string] {
	lines := dataset.Map(source(p, c.Numbers), func(i int64) []byte { return strconv.AppendInt(nil, i, 10) })
	return dataset.Map(dataset.Pipe(lines, c.Command...), func(line []byte) string { return string(line) })
})

func TestPipe(t *testing.T) {
	var want []string
	for i := range 50_000 {
		want = append(want, strconv.Itoa(i))
	}
	require.Equal(t, want, collect(t, piped, command{numbers{50_000, 3}, []string{"cat"}}))
	require.Equal(t, []string{"33", "33", "34"}, collect(t, piped, command{numbers{100, 3}, []string{"sh", "-c", "wc -l | tr -d ' '"}}))
	require.Equal(t, []string{"0", "1"}, collect(t, piped, command{numbers{1 << 20, 1}, []string{"head", "-n", "2"}}), "unread input is ignored")
	require.Equal(t, []string{"a", "", "b"}, collect(t, piped, command{numbers{3, 1}, []string{"printf", `a\n\nb`}}))
	require.Empty(t, collect(t, piped, command{numbers{100_000, 2}, []string{"true"}}))
	long := collect(t, piped, command{numbers{200_000, 1}, []string{"tr", "-d", `\n`}})
	require.Len(t, long, 1)
	require.Len(t, long[0], 10+90*2+900*3+9000*4+90_000*5+100_000*6)

	run(t, func(ctx context.Context, session *bobbin.Session) {
		for _, test := range []struct{ script, want string }{
			{"exit 3", "exit status 3"},
			{"cat; echo first problem >&2; echo it went wrong >&2; exit 1", "it went wrong"},
			{"kill -9 $$", "signal: killed"},
		} {
			_, err := piped.With(session, command{numbers{10, 1}, []string{"sh", "-c", test.script}}).Collect(ctx)
			require.ErrorContains(t, err, test.want)
		}
		_, err := piped.With(session, command{numbers{10, 1}, []string{"/no/such/program"}}).Collect(ctx)
		require.ErrorContains(t, err, "/no/such/program")
		_, err = piped.With(session, command{numbers{10, 1}, nil}).Collect(ctx)
		require.ErrorContains(t, err, "Pipe at more_operators_test.go")

		endless := piped.With(session, command{numbers{10, 1}, []string{"yes"}})
		taken, err := endless.Take(ctx, 3)
		require.NoError(t, err)
		require.Equal(t, []string{"y", "y", "y"}, taken)
	})
}

func TestPipeKillsItsCommandWhenTheTaskEnds(t *testing.T) {
	path := t.TempDir() + "/pids"
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	pids, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	var pid string
	run(t, func(ctx context.Context, session *bobbin.Session) {
		ctx, cancel := context.WithCancelCause(ctx)
		var reading sync.WaitGroup
		reading.Go(func() {
			pid, _ = bufio.NewReader(pids).ReadString('\n')
			cancel(errors.New("enough"))
		})
		defer reading.Wait()
		defer pids.Close()
		script := "sleep 1000 & echo $! >" + path + "; wait"
		_, err := piped.With(session, command{numbers{10, 1}, []string{"sh", "-c", script}}).Collect(ctx)
		require.ErrorContains(t, err, "enough")
	})
	require.NotEmpty(t, pid)
	require.Eventually(t, func() bool {
		status, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/status")
		return err != nil || strings.Contains(string(status), "State:\tZ")
	}, 10*time.Second, time.Millisecond, "the child of the command was killed too")
}
