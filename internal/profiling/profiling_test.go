package profiling

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"
)

// functions returns the names of all functions in a profile, joined.
func functions(p *profile.Profile) string {
	var names []string
	for _, f := range p.Function {
		names = append(names, f.Name)
	}
	return strings.Join(names, "\n")
}

func burn(ctx context.Context) (n int) {
	for ctx.Err() == nil {
		for range 100_000 {
			n += n*n + 1
		}
	}
	return n
}

func TestTake(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { burn(ctx) })
	var contended sync.Mutex
	for range 2 {
		running.Go(func() {
			for ctx.Err() == nil {
				contended.Lock()
				time.Sleep(time.Millisecond)
				contended.Unlock()
			}
		})
	}
	for _, kind := range types {
		p, err := Take(t.Context(), kind, time.Second)
		require.NoError(t, err, kind)
		if kind != Heap {
			require.Contains(t, functions(p), "internal/profiling", kind)
		}
		encoded, err := Encode(p)
		require.NoError(t, err)
		merged, err := Merge([][]byte{encoded, encoded}, []string{"twice"})
		require.NoError(t, err, kind)
		comments, err := Comments(merged)
		require.NoError(t, err)
		require.Equal(t, []string{"twice"}, comments)
	}
	_, err := Take(t.Context(), "threadcreat", time.Second)
	require.ErrorContains(t, err, "no type of profile")
}

func TestAProfileEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	_, err := Take(ctx, CPU, time.Hour)
	require.NoError(t, err)
	require.Less(t, time.Since(began), time.Minute)
}

func TestWhatIsNoProfile(t *testing.T) {
	_, err := Merge([][]byte{[]byte("nonsense")}, nil)
	require.Error(t, err)
	_, err = Comments(nil)
	require.Error(t, err)
	require.Error(t, Check(CPU, 0))
	require.NoError(t, Check(CPU, MaxDuration))
}
