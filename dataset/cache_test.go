package dataset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/dataset"
)

// TestTasksPreferExecutorsWithCachedPartitions also loses an executor that has the only copy
// of some partitions: just these are computed again.
func TestTasksPreferExecutorsWithCachedPartitions(t *testing.T) {
	computed.Store(0)
	settings := map[string]string{"locality.wait": "1m"} // tasks wait for the executors that they prefer
	runWithSettings(t, settings, func(ctx context.Context, session *bobbin.Session, more *executors) {
		more.add("a")
		cached := counted.With(session, numbers{1000, 10}).Cache(dataset.Memory)
		count := func() (processLocal int) {
			n, err := cached.Len(ctx)
			require.NoError(t, err)
			require.EqualValues(t, 1000, n)
			jobs := more.driver.Status().Jobs
			return jobs[len(jobs)-1].Locality.ProcessLocal
		}
		require.Zero(t, count())
		require.EqualValues(t, 1000, computed.Load())
		lost := 0 // partitions that "a" has computed
		for _, x := range more.driver.Status().Executors {
			if x.ID == "a" {
				lost = x.Done
			}
		}
		require.NotZero(t, lost)
		require.Equal(t, 10, count())
		require.EqualValues(t, 1000, computed.Load())

		more.lose("a")
		require.Equal(t, 10-lost, count())
		require.EqualValues(t, 1000+100*lost, computed.Load())
		require.Equal(t, 10, count())
	})
}
