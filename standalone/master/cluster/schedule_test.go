package cluster

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// placed returns the cores of each executor, by worker id.
func (s *sim) placed() map[string][]int {
	where := map[string][]int{}
	for id, w := range s.workers {
		for _, p := range w.processes {
			where[id] = append(where[id], int(p.launch.GetCores()))
		}
		slices.Sort(where[id])
	}
	return where
}

func TestPlacement(t *testing.T) {
	const all = protocol.Unlimited
	tests := []struct {
		name     string
		packed   bool
		workers  []uint32 // cores of the workers w0, w1, …; each has 10 MiB of memory
		coresMax uint32
		demand   *protocol.ExecutorDemand
		want     map[string][]int
	}{
		{"one each in turn", false, []uint32{4, 4, 4}, 0, demand(0, 4, 2, 1), map[string][]int{"w0": {2, 2}, "w1": {2}, "w2": {2}}},
		{"packed", true, []uint32{4, 4, 4}, 0, demand(0, 3, 2, 1), map[string][]int{"w0": {2, 2}, "w1": {2}}},
		{"most free cores first", false, []uint32{2, 8}, 0, demand(0, 1, 2, 1), map[string][]int{"w1": {2}}},
		{"all that fit", false, []uint32{4, 3}, 0, demand(0, all, 2, 1), map[string][]int{"w0": {2, 2}, "w1": {2}}},
		{"cores.max", false, []uint32{8, 8}, 7, demand(0, all, 2, 1), map[string][]int{"w0": {2, 2}, "w1": {2}}},
		{"cores.max below an executor", false, []uint32{8}, 1, demand(0, all, 2, 1), map[string][]int{}},
		{"memory bounds", false, []uint32{8, 8}, 0, demand(0, all, 1, 4), map[string][]int{"w0": {1, 1}, "w1": {1, 1}}},
		{"no cores named: one each, spread", false, []uint32{4, 4}, 0, demand(0, all, 0, 1), map[string][]int{"w0": {4}, "w1": {4}}},
		{"no cores named: cores.max is shared", false, []uint32{4, 4}, 5, demand(0, all, 0, 1), map[string][]int{"w0": {3}, "w1": {2}}},
		{"no cores named: packed", true, []uint32{4, 4}, 5, demand(0, all, 0, 1), map[string][]int{"w0": {4}, "w1": {1}}},
		{"no cores named: as many as asked for", false, []uint32{4, 4}, 0, demand(0, 1, 0, 1), map[string][]int{"w0": {4}}},
		{"none", false, []uint32{4}, 0, demand(0, 0, 1, 1), map[string][]int{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			options := testOptions()
			options.SpreadOut = !test.packed
			s := newSim(t, options)
			for i, cores := range test.workers {
				s.worker(fmt.Sprintf("w%d", i), cores, 10*mib)
			}
			s.app("a", test.coresMax, test.demand)
			s.settle()
			s.check()
			require.Equal(t, test.want, s.placed())
		})
	}
}

func TestPreferredHostsComeFirst(t *testing.T) {
	s := newSim(t, testOptions())
	for i := range 4 {
		s.worker(fmt.Sprintf("w%d", i), 8, 100*mib)
	}
	wanted := demand(0, 4, 2, 1)
	wanted.HostTasks = map[string]uint32{"host-w2": 4, "host-w3": 1, "elsewhere": 100}
	a := s.app("a", 0, wanted)
	s.settle()
	require.Equal(t, map[string][]int{"w0": {2}, "w2": {2, 2}, "w3": {2}}, s.placed(), "two for four tasks, one for one, and one anywhere")

	more := demand(0, 5, 2, 1)
	more.HostTasks = map[string]uint32{"host-w2": 4, "host-w1": 1}
	s.ask(a, more)
	s.settle()
	require.Equal(t, []int{2}, s.placed()["w1"], "those that are there already count")
}

func TestExcludedHostsGetNothing(t *testing.T) {
	s := newSim(t, testOptions())
	s.worker("w0", 4, 10*mib)
	a := s.app("a", 0)
	a.request = &protocol.ExecutorRequest{Demands: []*protocol.ExecutorDemand{demand(0, 1, 1, 1)}, ExcludedHosts: []string{"host-w0"}}
	require.NoError(t, s.c.Request(a.hello.GetApplicationId(), a.request))
	s.settle()
	require.Empty(t, s.placed())
	require.Contains(t, a.hindrance, "excludes")
	s.ask(a, demand(0, 1, 1, 1))
	s.settle()
	require.Len(t, s.placed(), 1)
	require.Empty(t, a.hindrance)
}

func TestResourcesAreAssignedByAddress(t *testing.T) {
	s := newSim(t, testOptions())
	w := s.worker("w0", 8, 10*mib, "0", "1", "2")
	wanted := demand(0, 5, 1, 1)
	wanted.Profile.Resources = map[string]int64{"gpu": 2}
	a := s.app("a", 0, wanted)
	s.settle()
	require.Len(t, w.processes, 1)
	require.Len(t, a.known, 1)
	another := demand(1, 5, 1, 1)
	another.Profile.Resources = map[string]int64{"gpu": 1}
	s.ask(a, wanted, another)
	s.settle()
	require.Len(t, w.processes, 2, "one address was left")
	shown := s.c.Status().Workers[0]
	require.Equal(t, map[string]ResourceUsed{"gpu": {Total: 3, Used: 3}}, shown.Resources)
}

func TestApplicationsAreScheduledFirstInFirstOut(t *testing.T) {
	s := newSim(t, testOptions())
	first := s.app("first", 0, demand(0, 3, 1, 1))
	second := s.app("second", 0, demand(0, 3, 1, 1))
	s.worker("w0", 4, 10*mib)
	s.settle()
	require.Len(t, first.known, 3)
	require.Len(t, second.known, 1)
	s.c.Finish(s.now, first.hello.GetApplicationId(), &protocol.Finish{Succeeded: true})
	s.settle()
	require.True(t, first.over)
	require.Len(t, second.known, 3)
}

func TestDriversAreLaunchedBeforeExecutors(t *testing.T) {
	s := newSim(t, testOptions())
	a := s.app("a", 0, demand(0, protocol.Unlimited, 1, 1))
	for range 3 {
		_, err := s.c.SubmitDriver(s.now, &protocol.SubmitDriverRequest{Description: &protocol.DriverDescription{
			Program: &protocol.File{Name: "x"}, Cores: 1, Memory: mib,
		}})
		require.NoError(t, err)
	}
	s.worker("w0", 2, 10*mib)
	s.worker("w1", 2, 10*mib)
	s.settle()
	drivers := len(s.workers["w0"].drivers) + len(s.workers["w1"].drivers)
	require.Equal(t, 3, drivers)
	require.Len(t, a.known, 1)
}

func TestHindrances(t *testing.T) {
	s := newSim(t, testOptions())
	a := s.app("a", 0, demand(0, 1, 4, 1))
	s.settle()
	require.Equal(t, "the cluster has no worker that is alive", a.hindrance)
	s.worker("w0", 2, 10*mib)
	s.settle()
	require.Contains(t, a.hindrance, "no worker is large enough for an executor, which needs 4 cores and 1m of memory: the largest has 2 cores")
	w := s.worker("w1", 4, 10*mib)
	s.settle()
	require.Empty(t, a.hindrance)
	b := s.app("b", 0, demand(0, 1, 4, 1))
	s.settle()
	require.Equal(t, "all workers that are large enough are busy", b.hindrance)
	s.ask(b, demand(0, 1, 4, 1))
	b.hello.Description.CoresMax = 3
	s.detachApp(b)
	s.attachApp(b)
	s.endProcess(w, slices.Collect(maps.Keys(w.processes))[0], protocol.ExecutorState_EXECUTOR_KILLED, 0)
	s.settle()
	require.Contains(t, b.hindrance, "cores.max 3 are left")
}

func TestDefaultCores(t *testing.T) {
	options := testOptions()
	options.DefaultCores = 2
	s := newSim(t, options)
	s.worker("w0", 8, 10*mib)
	a := s.app("a", 0, demand(0, protocol.Unlimited, 1, 1))
	b := s.app("b", 3, demand(0, protocol.Unlimited, 1, 1))
	s.settle()
	require.Len(t, a.known, 2)
	require.Len(t, b.known, 3)
}

func TestFailingExecutorsEndTheirApplication(t *testing.T) {
	fail := func(s *sim, a *simApp) {
		for _, w := range s.workers {
			for key := range w.processes {
				if key.application == a.hello.GetApplicationId() && !a.up[key.id] {
					s.endProcess(w, key, protocol.ExecutorState_EXECUTOR_EXITED, 1)
				}
			}
		}
		s.settle()
	}
	t.Run("after so many, each later than the one before", func(t *testing.T) {
		s := newSim(t, testOptions())
		s.worker("w0", 1, 10*mib)
		a := s.app("a", 0, demand(0, 1, 1, 1))
		s.settle()
		var waits []time.Duration
		for !a.over {
			fail(s, a)
			began := s.now
			for len(a.known) == 0 && !a.over {
				s.pass(50 * time.Millisecond)
			}
			waits = append(waits, s.now.Sub(began))
		}
		require.Len(t, waits, 10)
		require.Zero(t, waits[0])
		require.Equal(t, []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}, waits[1:3])
		require.Contains(t, a.why, "10 executors have failed one after the other")
		require.Contains(t, a.why, "exit code 1")
		require.Equal(t, ApplicationFailed, s.c.Status().EndedApplications[0].State)
	})
	t.Run("never while one is at work", func(t *testing.T) {
		s := newSim(t, testOptions())
		s.worker("w0", 2, 10*mib)
		a := s.app("a", 0, demand(0, 2, 1, 1))
		s.settle()
		s.register(a, 1)
		for range 30 {
			fail(s, a)
			s.pass(11 * time.Second)
		}
		require.False(t, a.over)
		require.Len(t, a.known, 2)
		s.register(a, slices.Max(slices.Collect(maps.Keys(a.known))))
		require.Zero(t, s.c.Status().Applications[0].Failures, "one that registers sets the count back")
	})
	t.Run("not by executors that were at work", func(t *testing.T) {
		options := testOptions()
		options.MaxExecutorRetries = 3
		s := newSim(t, options)
		w := s.worker("w0", 3, 10*mib)
		a := s.app("a", 0, demand(0, 3, 1, 1))
		s.settle()
		for _, id := range slices.Sorted(maps.Keys(a.known)) {
			s.register(a, id)
		}
		for _, id := range slices.Sorted(maps.Keys(a.known)) {
			s.endProcess(w, executorKey{a.hello.GetApplicationId(), id}, protocol.ExecutorState_EXECUTOR_EXITED, -9)
		}
		s.settle()
		require.False(t, a.over, a.why)
		require.Len(t, a.known, 3, "all are replaced")
	})
	t.Run("never without a limit", func(t *testing.T) {
		options := testOptions()
		options.MaxExecutorRetries = -1
		s := newSim(t, options)
		s.worker("w0", 1, 10*mib)
		a := s.app("a", 0, demand(0, 1, 1, 1))
		for range 30 {
			s.settle()
			fail(s, a)
			s.pass(11 * time.Second)
		}
		require.False(t, a.over)
	})
	t.Run("elsewhere where there is another worker", func(t *testing.T) {
		s := newSim(t, testOptions())
		s.worker("w0", 8, 10*mib)
		s.worker("w1", 1, 10*mib)
		a := s.app("a", 0, demand(0, 1, 1, 1))
		s.settle()
		require.Len(t, s.workers["w0"].processes, 1)
		fail(s, a)
		require.Len(t, s.workers["w1"].processes, 1)
	})
	t.Run("not by losing its workers", func(t *testing.T) {
		s := newSim(t, testOptions())
		a := s.app("a", 0, demand(0, 1, 1, 1))
		for i := range 20 {
			w := s.worker(fmt.Sprint("w", i), 1, 10*mib)
			s.settle()
			s.c.UnregisterWorker(s.now, w.hello.GetWorkerId())
			delete(s.workers, w.hello.GetWorkerId())
			s.settle()
		}
		require.False(t, a.over)
		require.Len(t, a.ends, 20)
		require.False(t, a.ends[0].GetCountsAsFailure())
	})
}
