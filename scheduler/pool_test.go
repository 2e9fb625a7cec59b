package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/scheduler/pool"
)

func TestFairPoolsAlternate(t *testing.T) {
	s := play(t, Config{Mode: pool.FAIR}, Executor{ID: "a", Host: "A", Cores: 6})
	s.submit(TaskSet{ID: 1, Tasks: 4, Pool: "x"})
	s.submit(TaskSet{ID: 2, Tasks: 4, Pool: "x"})
	s.submit(TaskSet{ID: 3, Tasks: 4, Pool: "y"})
	s.at(0, "1/0@a:no-pref", "3/0@a:no-pref", "1/1@a:no-pref", "3/1@a:no-pref", "1/2@a:no-pref", "3/2@a:no-pref")
	s.end("3/1", success)
	s.at(0, "3/3@a:no-pref")
	s.end("1/1", success)
	s.at(0, "1/3@a:no-pref")
	s.end("1/0", success)
	s.at(0, "2/0@a:no-pref")
	s.end("3/3", success)
	s.at(0, "2/1@a:no-pref") // y has no waiting tasks
}

func TestMinimumSharesGoFirst(t *testing.T) {
	s := play(t, Config{Mode: pool.FAIR, Pools: []pool.Pool{{Name: "x", MinShare: 2, Weight: 1}, {Name: "y", Weight: 2}}},
		Executor{ID: "a", Host: "A", Cores: 8})
	s.submit(TaskSet{ID: 1, Tasks: 9, Pool: "y"})
	s.submit(TaskSet{ID: 2, Tasks: 9, Pool: "x"})
	s.at(0, "2/0@a:no-pref", "2/1@a:no-pref", "1/0@a:no-pref", "1/1@a:no-pref", "1/2@a:no-pref", "1/3@a:no-pref",
		"2/2@a:no-pref", "1/4@a:no-pref")
}

func TestPoolsNest(t *testing.T) {
	s := play(t, Config{Mode: pool.FAIR, Pools: []pool.Pool{
		{Name: "team", Mode: pool.FAIR, Pools: []pool.Pool{{Name: "ann", Weight: 2}, {Name: "ben"}}},
		{Name: "others"},
	}}, Executor{ID: "a", Host: "A", Cores: 12})
	for id, pool := range []string{"ann", "ben", "others"} {
		s.submit(TaskSet{ID: uint64(id), Tasks: 20, Pool: pool})
	}
	require.Len(t, launched(s.Scheduler, start), 12)
	running := map[uint64]int{}
	for _, set := range s.Snapshot().TaskSets {
		running[set.ID] = set.Running
	}
	require.Equal(t, map[uint64]int{0: 4, 1: 2, 2: 6}, running)
}

func TestSetThatWaitsForLocalityIsSkipped(t *testing.T) {
	s := play(t, Config{Mode: pool.FAIR, LocalityWaitNode: time.Second}, Executor{ID: "a", Host: "A", Cores: 1}, Executor{ID: "b", Host: "B", Cores: 2})
	s.submit(TaskSet{ID: 1, Tasks: 3, Pool: "x", Preferences: on("A", "A", "A")})
	s.submit(TaskSet{ID: 2, Tasks: 1, Pool: "y"})
	s.at(0, "1/0@a:node-local", "2/0@b:no-pref")
	s.at(time.Second - 1)
	s.at(time.Second, "1/1@b:any")
}

func TestPoolsHaveNoEffectWithFIFO(t *testing.T) {
	s := play(t, Config{Pools: []pool.Pool{{Name: "x"}, {Name: "y"}}}, Executor{ID: "a", Host: "A", Cores: 3})
	s.submit(TaskSet{ID: 1, Tasks: 2, Pool: "y"})
	s.submit(TaskSet{ID: 2, Tasks: 2, Pool: "x"})
	s.at(0, "1/0@a:no-pref", "1/1@a:no-pref", "2/0@a:no-pref")
}

// Pools that always have waiting tasks use cores in the proportion of their
// weights, in whatever order attempts end.
func TestFairSharesConvergeToTheWeights(t *testing.T) {
	weights := []int{1, 2, 3, 4}
	config := Config{Mode: pool.FAIR}
	for i, weight := range weights {
		config.Pools = append(config.Pools, pool.Pool{Name: fmt.Sprint("pool", i), Weight: weight, Mode: pool.Mode(i % 2)})
	}
	s := New(config)
	random := rand.New(rand.NewPCG(1, 2))
	var running []Launch
	// At first, pool0 uses all cores.
	require.NoError(t, s.Submit(TaskSet{ID: 0, Tasks: 1000, Pool: "pool0"}))
	for i := range 50 {
		require.NoError(t, s.AddExecutor(Executor{ID: fmt.Sprint(i), Host: fmt.Sprint("host", i), Cores: 4}))
	}
	running = append(running, launched(s, start)...)
	require.Len(t, running, 200)
	for i := range weights {
		for j := range 3 {
			require.NoError(t, s.Submit(TaskSet{ID: uint64(1 + 3*i + j), Tasks: 1000, Pool: fmt.Sprint("pool", i)}))
		}
	}
	for range 2000 {
		at := random.IntN(len(running))
		s.Finished(running[at].Attempt, success)
		launches := launched(s, start)
		require.Len(t, launches, 1)
		running[at] = launches[0]
	}
	cores := make([]int, len(weights))
	for _, set := range s.Snapshot().TaskSets {
		cores[max(int(set.ID)-1, 0)/3] += set.Running
	}
	require.Equal(t, []int{20, 40, 60, 80}, cores)
}
