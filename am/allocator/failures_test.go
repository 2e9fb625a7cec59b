package allocator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailuresCountWithinTheirValidity(t *testing.T) {
	c := failureCounts{max: 3, validity: time.Hour}
	for i := range 3 {
		c.count(reasonExited, "broke", later(time.Duration(i)*20*time.Minute))
		c.count(reasonPreempted, "taken", later(0))
	}
	require.ErrorContains(t, c.tooMany(9, later(40*time.Minute)), "3 executors failed within 1h0m0s, executor.maxNumFailures is 3; the last: broke")
	require.NoError(t, c.tooMany(0, later(time.Hour+time.Second)), "the first is too old")
	require.Equal(t, 2, c.recentCount(later(time.Hour+time.Second)))
	require.Zero(t, c.recentCount(later(24*time.Hour)))
	require.Equal(t, []FailureCount{
		{Reason: "exited", Count: 3, CountsAsFailure: true, Last: "broke"},
		{Reason: "preempted", Count: 3, Last: "taken"},
	}, c.list(), "counts by reason never expire")
}

func TestFailuresAreToleratedWhileExecutorsRun(t *testing.T) {
	c := failureCounts{max: 1, tolerate: 2}
	require.NoError(t, c.tooMany(0, begin))
	c.count(reasonExited, "broke", begin)
	require.Empty(t, c.notes())
	require.NoError(t, c.tooMany(2, begin))
	require.Len(t, c.notes(), 1)
	require.ErrorContains(t, c.tooMany(1, begin), "1 are running and executor.failures.tolerateWhenRunning is 2")
}
