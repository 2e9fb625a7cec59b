package bobbin_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
)

var (
	seen    = bobbin.NewCounter("test.seen")
	largest = bobbin.NewGauge("test.largest")
	counts  = bobbin.Func("test.counts", func(task *bobbin.Task, n int) ([]byte, error) {
		seen.Add(task, int64(n))
		largest.Set(task, int64(n))
		if task.Attempt() == 0 && n%2 == 1 {
			return nil, errors.New("not yet")
		}
		return make([]byte, n<<20), nil
	})
)

func TestCountersCountSuccessfulAttempts(t *testing.T) {
	require.NoError(t, locally(t, "local[2,2]", func(ctx context.Context, session *bobbin.Session) error {
		require.Zero(t, session.Counter(seen))
		require.Zero(t, session.Gauge(largest))
		_, err := counts.Run(ctx, session, []int{1, 2, 3, 4})
		require.NoError(t, err)
		require.Equal(t, int64(10), session.Counter(seen))
		require.Equal(t, bobbin.GaugeValue{Peak: 4}, session.Gauge(largest))
		_, err = counts.Run(ctx, session, []int{5}, bobbin.MaxFailures(1))
		require.Error(t, err)
		require.Equal(t, int64(10), session.Counter(seen))
		return nil
	}))
}
