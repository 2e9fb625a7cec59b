package allocation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// optionsFrom returns the default options with dynamic allocation enabled and with the settings
// in values.
func optionsFrom(t *testing.T, values map[string]string) Options {
	all := map[string]string{"dynamicAllocation.enabled": "true"}
	for key, value := range values {
		all["dynamicAllocation."+key] = value
	}
	c, err := config.FromMap(all)
	require.NoError(t, err)
	return FromConfig(c)
}

func TestOptionsFromSettings(t *testing.T) {
	require.Equal(t, Options{
		Max: Unbounded, IdleTimeout: time.Minute, HoldingIdleTimeout: Never,
		BacklogTimeout: time.Second, SustainedBacklogTimeout: time.Second, Ratio: 1,
	}, optionsFrom(t, nil))
	require.Equal(t, Options{
		Min: 1, Initial: 2, Max: 3, IdleTimeout: 4 * time.Second, HoldingIdleTimeout: 5 * time.Second,
		BacklogTimeout: 6 * time.Second, SustainedBacklogTimeout: 7 * time.Second, Ratio: 0.5,
	}, optionsFrom(t, map[string]string{
		"minExecutors": "1", "initialExecutors": "2", "maxExecutors": "3", "executorIdleTimeout": "4s", "cachedExecutorIdleTimeout": "5s",
		"schedulerBacklogTimeout": "6s", "sustainedSchedulerBacklogTimeout": "7s", "executorAllocationRatio": "0.5",
	}))
	require.Equal(t, 6*time.Second, optionsFrom(t, map[string]string{"schedulerBacklogTimeout": "6s"}).SustainedBacklogTimeout)
}

// targets updates a pool every second with the same work, and returns the target after each
// update.
func targets(p *Pool, work Work, begin, seconds int) []int {
	var targets []int
	for second := range seconds {
		p.Update(work, epoch.Add(time.Duration(begin+second)*time.Second))
		targets = append(targets, p.Target())
	}
	return targets
}

func TestTargetRisesWhileTasksWait(t *testing.T) {
	tests := []struct {
		name     string
		settings map[string]string
		work     Work
		want     []int
	}{
		{"exponentially, up to the need", nil, Work{Executors: 20, Backlog: true}, []int{0, 1, 3, 7, 15, 20, 20}},
		{"up to the maximum", map[string]string{"maxExecutors": "5"}, Work{Executors: 20, Backlog: true}, []int{0, 1, 3, 5, 5}},
		{"from the minimum", map[string]string{"minExecutors": "4"}, Work{Executors: 20, Backlog: true}, []int{4, 5, 7, 11, 19, 20}},
		{"from the initial number", map[string]string{"initialExecutors": "6"}, Work{Executors: 20, Backlog: true}, []int{6, 7, 9, 13, 20}},
		{"but begins with no more than is needed", map[string]string{"initialExecutors": "6"}, Work{Executors: 2, Backlog: true}, []int{2, 2}},
		{"after the timeouts", map[string]string{"schedulerBacklogTimeout": "3s", "sustainedSchedulerBacklogTimeout": "2s"},
			Work{Executors: 20, Backlog: true}, []int{0, 0, 0, 1, 1, 3, 3, 7, 7, 15}},
		{"at once without a timeout", map[string]string{"schedulerBacklogTimeout": "0"}, Work{Executors: 20, Backlog: true}, []int{1, 3, 7}},
		{"only while tasks wait", nil, Work{Executors: 20}, []int{0, 0, 0, 0}},
		{"to a part of what would be of use", map[string]string{"executorAllocationRatio": "0.25"},
			Work{Executors: 20, Backlog: true}, []int{0, 1, 3, 5, 5}},
		{"to a whole number", nil, Work{Executors: 1.25, Backlog: true}, []int{0, 1, 2, 2}},
		{"to the number that fractions add up to", nil, Work{Executors: 0.1 + 0.2 + 0.7, Backlog: true}, []int{0, 1, 1}},
		{"to one for the smallest part", map[string]string{"executorAllocationRatio": "0.01"},
			Work{Executors: 0.1, Backlog: true}, []int{0, 1, 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := New(optionsFrom(t, test.settings))
			require.Equal(t, test.want, targets(p, test.work, 0, len(test.want)))
		})
	}
}

func TestTargetRisesByOneAgainWithEachBacklog(t *testing.T) {
	p := New(optionsFrom(t, nil))
	require.Equal(t, []int{0, 1, 3, 7}, targets(p, Work{Executors: 100, Backlog: true}, 0, 4))
	require.Equal(t, []int{7}, targets(p, Work{Executors: 100}, 4, 1), "all run")
	require.Equal(t, []int{7, 8, 10}, targets(p, Work{Executors: 100, Backlog: true}, 5, 3))
	require.Equal(t, []int{10, 10, 10}, targets(p, Work{Executors: 10, Backlog: true}, 8, 3))
	require.Equal(t, []int{11, 13}, targets(p, Work{Executors: 100, Backlog: true}, 11, 2), "the tasks have waited all along")
}

func TestTargetFallsWithTheWorkAtOnce(t *testing.T) {
	p := New(optionsFrom(t, map[string]string{"minExecutors": "2"}))
	targets(p, Work{Executors: 100, Backlog: true}, 0, 10)
	require.Equal(t, []int{30}, targets(p, Work{Executors: 30, Backlog: true}, 10, 1))
	require.Equal(t, []int{5}, targets(p, Work{Executors: 4.5}, 11, 1))
	require.Equal(t, []int{2}, targets(p, Work{}, 12, 1))
}

func TestTargetStaysInitialBeforeAnyWork(t *testing.T) {
	p := New(optionsFrom(t, map[string]string{"initialExecutors": "3", "executorIdleTimeout": "2s"}))
	p.Add("1", epoch)
	require.Equal(t, []int{3, 3, 3, 3, 3}, targets(p, Work{}, 0, 5))
	require.Zero(t, p.Next())
	require.Len(t, p.executors, 1, "however long it is idle")
}

func TestTargetRisesFromTheRunningExecutors(t *testing.T) {
	p := New(optionsFrom(t, nil))
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		p.Add(id, epoch).Busy()
	}
	require.Equal(t, []int{0}, targets(p, Work{Executors: 5}, 0, 1), "the running executors suffice")
	require.Equal(t, []int{0, 6, 8}, targets(p, Work{Executors: 100, Backlog: true}, 1, 3))
}

// removed updates a pool every second and returns the ids of the removed executors.
func removed(p *Pool, work Work, seconds int) []string {
	var ids []string
	for _, e := range p.Update(work, epoch.Add(time.Duration(seconds)*time.Second)) {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestIdleExecutorsAreRemoved(t *testing.T) {
	p := New(optionsFrom(t, map[string]string{"minExecutors": "1"}))
	at := func(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }
	executors := map[string]*Executor{}
	for i, id := range []string{"1", "2", "3", "4", "5"} {
		executors[id] = p.Add(id, at(i))
		executors[id].Busy()
	}
	require.Empty(t, removed(p, Work{Executors: 5}, 10))
	executors["4"].Idle(at(10))
	executors["2"].Idle(at(20))
	require.Empty(t, removed(p, Work{Executors: 3}, 20))
	require.Equal(t, at(60), p.Next(), "when the first one could have been idle for long enough")
	require.Empty(t, removed(p, Work{Executors: 3}, 60))
	require.Equal(t, at(70), p.Next())
	require.Empty(t, removed(p, Work{Executors: 3}, 69))
	require.Equal(t, []string{"4"}, removed(p, Work{Executors: 3}, 70))
	require.Equal(t, at(80), p.Next())
	require.Equal(t, []string{"2"}, removed(p, Work{Executors: 3}, 1000), "late is not too late")

	executors["1"].Idle(at(1000))
	executors["1"].Busy()
	executors["3"].Idle(at(1010))
	executors["1"].Idle(at(1020))
	executors["5"].Idle(at(1020))
	require.Empty(t, removed(p, Work{}, 1069))
	require.Equal(t, []string{"3"}, removed(p, Work{}, 1070))
	require.Equal(t, []string{"1"}, removed(p, Work{}, 1080), "one stays: the minimum")
	require.Zero(t, p.Next())
	require.Empty(t, removed(p, Work{}, 5000))
	p.Remove(executors["1"])
	p.Add("6", at(5000))
	require.Equal(t, []string{"5"}, removed(p, Work{}, 5001), "the one that is idle longer, once there is another")
}

func TestExecutorsThatTheWorkCanUseStay(t *testing.T) {
	p := New(optionsFrom(t, nil))
	for _, id := range []string{"1", "2", "3"} {
		p.Add(id, epoch)
	}
	// The executors are idle although there is work: the waiting tasks wait for cores of other
	// executors, or the running tasks use only a few executors.
	require.Empty(t, removed(p, Work{Executors: 7, Backlog: true}, 1000))
	require.Empty(t, removed(p, Work{Executors: 3}, 2000))
	require.Equal(t, []string{"1"}, removed(p, Work{Executors: 1.5}, 3000))
}

func TestExecutorsThatHoldDataAreKept(t *testing.T) {
	for name, test := range map[string]struct {
		settings map[string]string
		first    []string // ids of the executors that are removed after 100 s
		second   []string // ids of the executors that are removed after 1000 s
	}{
		"until it is released": {nil, []string{"2", "3"}, nil},
		"for a while":          {map[string]string{"cachedExecutorIdleTimeout": "5m"}, []string{"2", "3"}, []string{"1"}},
		"for less than others": {map[string]string{"cachedExecutorIdleTimeout": "80s", "executorIdleTimeout": "90s"}, []string{"2", "3", "1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(optionsFrom(t, test.settings))
			var executors []*Executor
			for _, id := range []string{"1", "2", "3"} {
				executors = append(executors, p.Add(id, epoch))
			}
			removed(p, Work{Executors: 1}, 0)
			executors[0].Hold(true)
			executors[1].Hold(true)
			executors[1].Hold(false)
			require.Equal(t, test.first, removed(p, Work{}, 100))
			require.Equal(t, test.second, removed(p, Work{}, 1000))
			executors[0].Hold(false)
			if len(p.executors) > 0 {
				require.False(t, p.Next().IsZero())
				require.Equal(t, []string{"1"}, removed(p, Work{}, 1001), "it was idle for long enough before it was released")
			}
		})
	}
}

func TestExecutorsThatHoldDataGoLast(t *testing.T) {
	p := New(optionsFrom(t, map[string]string{"cachedExecutorIdleTimeout": "10s", "executorIdleTimeout": "10s"}))
	for i, id := range []string{"1", "2", "3", "4"} {
		p.Add(id, epoch.Add(time.Duration(i)*time.Second)).Hold(id < "3")
	}
	require.Equal(t, []string{"3", "4", "1"}, removed(p, Work{Executors: 0.1}, 100))
}

func TestRemovedExecutorIsNeverReturned(t *testing.T) {
	p := New(optionsFrom(t, nil))
	first, second := p.Add("1", epoch), p.Add("2", epoch)
	removed(p, Work{Executors: 1}, 0)
	p.Remove(first)
	p.Remove(first)
	first.Busy()
	first.Idle(epoch)
	first.Hold(true)
	require.Equal(t, []string{"2"}, removed(p, Work{}, 100))
	p.Remove(second)
	require.Empty(t, p.executors)
	require.False(t, slices.Contains(removed(p, Work{}, 1000), "2"))
}
