package dataset_test

import (
	"context"
	"encoding/binary"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// countedNumber is a number that counts its decodings in decodedFactors. freedFactors
// records the numbers that the garbage collector has freed.
type countedNumber struct{ n *int64 }

var (
	decodedFactors atomic.Int64
	freedFactors   sync.Map
)

func (f countedNumber) MarshalBinary() ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, uint64(*f.n)), nil
}

func (f *countedNumber) UnmarshalBinary(encoded []byte) error {
	f.n = new(int64)
	*f.n = int64(binary.BigEndian.Uint64(encoded))
	decodedFactors.Add(1)
	runtime.AddCleanup(f.n, func(n int64) { freedFactors.Store(n, true) }, *f.n)
	return nil
}

func newFactor(n int64) countedNumber { return countedNumber{&n} }

type scaling struct {
	In     *dataset.Of[int64]
	Factor *dataset.Broadcast[countedNumber]
}

var (
	scaled = dataset.Define("scaled", func(_ *dataset.Plan, s scaling) *dataset.Of[int64] {
		return dataset.Map(s.In, func(i int64) int64 { return i * *s.Factor.Value().n })
	})
	// scaledSums uses the broadcast value before and after its shuffle. Its input comes
	// from a shuffle of another plan.
	scaledSums = dataset.Define("sums of scaled", func(_ *dataset.Plan, s scaling) *dataset.Of[dataset.KV[int64, int64]] {
		sums := dataset.Reduce(dataset.MapKV(s.In, func(i int64) (int64, int64) { return i % 3, 1 }), func(a, b int64) int64 {
			return (a/(*s.Factor.Value().n) + b/(*s.Factor.Value().n)) * *s.Factor.Value().n
		})
		return dataset.MapValues(sums, func(sum int64) int64 { return sum + *s.Factor.Value().n })
	})
	broadcastInPlanFunction = dataset.Define("hasty", func(p *dataset.Plan, b *dataset.Broadcast[string]) *dataset.Of[int64] {
		return source(p, numbers{N: len(b.Value()), Partitions: 1})
	})
	measured = dataset.Define("measured", func(p *dataset.Plan, b *dataset.Broadcast[string]) *dataset.Of[int64] {
		return dataset.Map(source(p, numbers{10, 10}), func(i int64) int64 { return i + int64(len(b.Value())) })
	})
)

func TestBroadcastIsDecodedOnce(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		before := decodedFactors.Load()
		b := dataset.NewBroadcast(session, newFactor(3))
		for range 2 {
			got, err := scaled.With(session, scaling{counted.With(session, numbers{5, 5}), b}).Collect(ctx)
			require.NoError(t, err)
			require.Equal(t, []int64{0, 3, 6, 9, 12}, got)
		}
		require.EqualValues(t, 1, decodedFactors.Load()-before)
	})
}

func TestBroadcastInAllStages(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		b := dataset.NewBroadcast(session, newFactor(1))
		got, err := scaledSums.With(session, scaling{counted.With(session, numbers{9, 3}), b}).Collect(ctx)
		require.NoError(t, err)
		require.Equal(t, map[int64]int64{0: 4, 1: 4, 2: 4}, toMap(got))
	})
}

func TestUnusedBroadcastIsRemoved(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		freed := func(factor int64) func() bool {
			return func() bool {
				runtime.GC()
				_, freed := freedFactors.Load(factor)
				return freed
			}
		}
		in := counted.With(session, numbers{5, 5})
		kept := scaled.With(session, scaling{in, dataset.NewBroadcast(session, newFactor(20))})
		_, err := scaled.With(session, scaling{in, dataset.NewBroadcast(session, newFactor(30))}).Collect(ctx)
		require.NoError(t, err)
		require.Eventually(t, freed(30), 10*time.Second, time.Millisecond)
		got, err := kept.Collect(ctx) // the data set refers to the Broadcast
		require.NoError(t, err)
		require.Equal(t, []int64{0, 20, 40, 60, 80}, got)
		session.Close()
		require.Eventually(t, freed(20), 10*time.Second, time.Millisecond)
		runtime.KeepAlive(kept)
	})
}

func TestLargeBroadcast(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		got, err := measured.With(session, dataset.NewBroadcast(session, strings.Repeat("x", 9<<20))).Collect(ctx)
		require.NoError(t, err)
		require.Len(t, got, 10)
		require.EqualValues(t, 9<<20, got[0])
	})
}

func TestInvalidBroadcasts(t *testing.T) {
	run(t, func(ctx context.Context, session *bobbin.Session) {
		_, err := broadcastInPlanFunction.With(session, dataset.NewBroadcast(session, "x")).Collect(ctx)
		require.ErrorContains(t, err, "Broadcast.Value was called outside of tasks")
		_, err = measured.With(session, nil).Collect(ctx)
		require.ErrorContains(t, err, "outside of tasks")
		_, err = measured.With(session, &dataset.Broadcast[string]{}).Collect(ctx)
		require.ErrorContains(t, err, "no result of NewBroadcast")

		other, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		late, b := dataset.NewBroadcast(other, "late"), dataset.NewBroadcast(other, "gone")
		planned := measured.With(session, b)
		other.Close()
		_, err = measured.With(session, late).Collect(ctx)
		require.ErrorContains(t, err, "the session of a Broadcast has ended")
		_, err = measured.With(session, dataset.NewBroadcast(other, "too late")).Collect(ctx)
		require.ErrorIs(t, err, bobbin.ErrClosed)
		require.Eventually(t, func() bool {
			_, err := planned.Collect(ctx)
			return err != nil && strings.Contains(err.Error(), "was removed")
		}, 10*time.Second, time.Millisecond)
	})
}
