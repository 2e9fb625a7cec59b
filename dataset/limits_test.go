package dataset_test

import (
	"bytes"
	"context"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// large describes two data sets with values of a mebibyte, all of the same key.
type large struct{ Left, Right int }

const megabyte = 1 << 20

func (l large) sides(p *dataset.Plan) (left, right *dataset.Of[dataset.KV[string, []byte]]) {
	side := func(n int) *dataset.Of[dataset.KV[string, []byte]] {
		return dataset.MapKV(dataset.Range(p, 0, int64(n), 2), func(i int64) (string, []byte) { return "the key", make([]byte, megabyte) })
	}
	return side(l.Left), side(l.Right)
}

var (
	joinedLarge = dataset.Define("large join", func(p *dataset.Plan, l large) *dataset.Of[int] {
		left, right := l.sides(p)
		return dataset.Join(left, right, func(_ string, l, r []byte) int { return len(l) + len(r) })
	})
	broadcastLarge = dataset.Define("large broadcast join", func(p *dataset.Plan, l large) *dataset.Of[int] {
		left, right := l.sides(p)
		return dataset.BroadcastJoin(left, right, func(_ string, l, r []byte) int { return len(l) + len(r) })
	})
	groupedLarge = dataset.Define("large groups", func(p *dataset.Plan, l large) *dataset.Of[int] {
		left, _ := l.sides(p)
		return dataset.Map(dataset.Group(left), func(group dataset.KV[string, iter.Seq[[]byte]]) (total int) {
			for value := range group.Value {
				total += len(value)
			}
			return total
		})
	})
	largeRecord = dataset.Define("a large record", func(p *dataset.Plan, size int) *dataset.Of[int] {
		record := dataset.MapKV(dataset.Range(p, 0, 1, 1), func(int64) (string, []byte) { return "the key", make([]byte, size) })
		return dataset.Map(dataset.Group(record), func(group dataset.KV[string, iter.Seq[[]byte]]) (total int) {
			for value := range group.Value {
				total += len(value)
			}
			return total
		})
	})
)

// runWithLittleMemory runs a driver function on a local master with two cores, in which an
// operator has 6 to 13 MiB of memory: half of a task's share, or all of it.
func runWithLittleMemory(t *testing.T, f func(ctx context.Context, session *bobbin.Session)) {
	t.Helper()
	before := debug.SetMemoryLimit(128 * megabyte)
	defer debug.SetMemoryLimit(before)
	runWith(t, map[string]string{"master": "local[2]", "dataset.autoBroadcastJoinThreshold": "0"}, f)
}

func TestJoinOfAKeyWithManyValues(t *testing.T) {
	runWithLittleMemory(t, func(ctx context.Context, session *bobbin.Session) {
		for _, fits := range []large{{30, 2}, {2, 30}} {
			pairs, err := joinedLarge.With(session, fits).Collect(ctx)
			require.NoError(t, err)
			require.Len(t, pairs, 60)
		}
		_, err := joinedLarge.With(session, large{30, 30}).Collect(ctx)
		require.ErrorContains(t, err, "key the key has more than ")
		require.ErrorContains(t, err, "bytes of values on both sides of a join, the memory that a task may use: raise executor.memory")
		require.ErrorContains(t, err, "Join at limits_test.go")
		require.ErrorContains(t, err, "failed once")
	})
}

func TestBroadcastJoinOfALargeSide(t *testing.T) {
	runWithLittleMemory(t, func(ctx context.Context, session *bobbin.Session) {
		pairs, err := broadcastLarge.With(session, large{30, 2}).Collect(ctx)
		require.NoError(t, err)
		require.Len(t, pairs, 60)
		_, err = broadcastLarge.With(session, large{2, 30}).Collect(ctx)
		require.ErrorContains(t, err, "the small side of BroadcastJoin has more than ")
		require.ErrorContains(t, err, "bytes, the memory that a task may use: use Join, or raise executor.memory")
	})
}

func TestGroupsLargerThanMemoryAreStreamed(t *testing.T) {
	runWithLittleMemory(t, func(ctx context.Context, session *bobbin.Session) {
		totals, err := groupedLarge.With(session, large{Left: 100}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []int{100 * megabyte}, totals)
	})
}

// A record may be larger than the memory of an operator, which then has only this record in
// memory. A line may not be larger than the memory of a task.
func TestRecordsLargerThanMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "line")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 20*megabyte), 0o600))
	runWithLittleMemory(t, func(ctx context.Context, session *bobbin.Session) {
		totals, err := largeRecord.With(session, 20*megabyte).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, []int{20 * megabyte}, totals)
		_, err = sortedText.With(session, path).Collect(ctx)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "a line is longer than ")
	})
}
