package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
)

// With exclusion on, a turn of the owner does not look at sets that nothing
// failed in.
func TestAdvanceCostsNoMoreForSetsWithoutFailures(t *testing.T) {
	allocations := func(sets uint64) float64 {
		s := New(Config{Exclusion: exclusion.Rules{Enabled: true}})
		for id := range sets {
			require.NoError(t, s.Submit(TaskSet{ID: id, Tasks: 1}))
		}
		now := start
		turn := func() {
			now = now.Add(time.Millisecond)
			s.Advance(now)
			s.NextDeadline()
		}
		require.Empty(t, s.mayBlock)
		return testing.AllocsPerRun(100, turn)
	}
	require.Equal(t, allocations(1), allocations(1000))
}
