package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/scheduler/exclusion"
)

func TestWhyWaiting(t *testing.T) {
	config := excluding(exclusion.Rules{})
	config.LocalityWaitNode = 3 * time.Second
	s := play(t, config)
	why := func(id uint64, expected WaitReason, text string) {
		t.Helper()
		why, reason := s.WhyWaiting(id)
		require.Equal(t, expected, why)
		require.Equal(t, text, reason)
	}
	why(1, WaitNone, "")
	s.submit(TaskSet{ID: 1, Tasks: 1, Profile: 3})
	why(1, WaitNoExecutors, "no executor of its resource profile (3) has registered")
	require.NoError(t, s.AddExecutor(Executor{ID: "a", Host: "A", Cores: 2}))
	s.submit(TaskSet{ID: 2, Tasks: 1, CPUs: 4})
	why(2, WaitTaskTooLarge, "each task takes 4 cores, more than any executor has; there is 1 executor")
	s.submit(TaskSet{ID: 3, Tasks: 1, Resources: map[string]float64{"gpu": 0.5}})
	why(3, WaitTaskTooLarge, "each task takes 1 core and 0.5 of gpu, more than any executor has; there is 1 executor")
	s.submit(TaskSet{ID: 4, Tasks: 3, Barrier: true})
	why(4, WaitTooFewSlots, "its 3 tasks must run at once, and there is room for 2 on 1 executor")
	s.Cancel(4, "")
	s.submit(TaskSet{ID: 5, Tasks: 4})
	why(5, WaitNone, "")
	s.at(0, "5/0@a:no-pref", "5/1@a:no-pref")
	why(5, WaitAllBusy, "other tasks hold the 1 executor that it may use")
	s.end("5/0", failed)
	s.at(0, "5/2@a:no-pref")
	s.end("5/2", success)
	s.at(0, "5/3@a:no-pref")
	s.end("5/3", success)
	s.at(0)
	why(5, WaitAllExcluded, "task 0 is excluded from what is large enough, as it failed there: 1 executor")
	s.end("5/1", failed)
	why(5, WaitAllExcluded, "what is large enough is excluded, as tasks failed there: 1 executor")
	require.NoError(t, s.AddExecutor(Executor{ID: "b", Host: "B", Cores: 2}))
	s.at(0, "5/0@b:no-pref", "5/1@b:no-pref")
	s.submit(TaskSet{ID: 6, Tasks: 1, Preferences: on("B")})
	s.at(0)
	s.at(time.Second)
	why(6, WaitForLocality, "it takes no core that is less than node-local to its tasks for another 2s")
	s.DecommissionExecutor("a")
	s.DecommissionExecutor("b")
	why(6, WaitAllDecommissioning, "what is large enough is being decommissioned: 2 executors")
}

// The cost of Advance and NextDeadline must not grow with the number of sets without failures,
// even if exclusion is enabled.
func TestAdvanceIgnoresSetsWithoutFailures(t *testing.T) {
	allocations := func(sets uint64) float64 {
		s := New(Config{Exclusion: exclusion.Rules{Enabled: true}})
		for id := range sets {
			require.NoError(t, s.Submit(TaskSet{ID: id, Tasks: 1}))
		}
		now := start
		advance := func() {
			now = now.Add(time.Millisecond)
			s.Advance(now)
			s.NextDeadline()
		}
		require.Empty(t, s.possiblyBlocked)
		return testing.AllocsPerRun(100, advance)
	}
	require.Equal(t, allocations(1), allocations(1000))
}
