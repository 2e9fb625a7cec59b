package allocator

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func exclusionsOf(users ...string) *exclusions {
	return newExclusions(users, true, 2, time.Hour, slog.New(slog.DiscardHandler))
}

func nodesNamed(hosts ...string) *topology {
	racks := map[string]string{}
	for _, host := range hosts {
		racks[host] = "/r"
	}
	return newTopology(racks)
}

// anyOf returns an argument for refresh. It counts the nodes of one profile, whose executors can
// run on any node.
func anyOf(nodes *topology, clusterNodes int) func() nodeCounts {
	return func() nodeCounts { return countNodes(nodes, clusterNodes, []sizeAndLabel{{}}) }
}

func (e *exclusions) hosts() []string { return slices.Sorted(maps.Keys(e.active)) }

func TestANodeWhereExecutorsFailIsExcludedForATime(t *testing.T) {
	e, nodes := exclusionsOf(), nodesNamed("a", "b", "c")
	e.failed("a", "first", begin)
	require.False(t, e.refresh(begin, anyOf(nodes, 3)))
	e.failed("a", "second", later(time.Minute))
	require.True(t, e.refresh(later(time.Minute), anyOf(nodes, 3)))
	add, remove := e.changes()
	require.Equal(t, []string{"a"}, add)
	require.Empty(t, remove)
	until := later(time.Minute + time.Hour)
	require.Equal(t, []Exclusion{{Host: "a", Reason: "2 executors failed there; the last: second", Until: &until}}, e.list())
	require.False(t, e.refresh(until.Add(-1), anyOf(nodes, 3)))
	require.True(t, e.refresh(until, anyOf(nodes, 3)))
	add, remove = e.changes()
	require.Empty(t, add)
	require.Equal(t, []string{"a"}, remove)
	e.failed("a", "third", until)
	require.False(t, e.refresh(until, anyOf(nodes, 3)), "failures count from 0 again")
	e.failed("b", "old", begin)
	e.failed("b", "new", later(2*time.Hour))
	require.False(t, e.refresh(later(2*time.Hour), anyOf(nodes, 3)), "they are too far apart")
}

func TestExclusionsGiveWayWhenNoNodeIsLeft(t *testing.T) {
	e, nodes := exclusionsOf("d"), nodesNamed("a", "b", "c", "d")
	fail := func(host string, at time.Duration) {
		e.failed(host, "x", later(at))
		e.failed(host, "x", later(at))
		e.refresh(later(at), anyOf(nodes, 4))
	}
	fail("a", 1)
	fail("b", 2)
	require.Equal(t, []string{"a", "b", "d"}, e.hosts())
	require.Empty(t, e.notes())
	fail("c", 3)
	require.Equal(t, []string{"b", "c", "d"}, e.hosts(), "the oldest gives way")
	require.Contains(t, e.notes()[0], "a would be excluded")
	e.setByDriver([]string{"a"})
	e.refresh(later(4), anyOf(nodes, 4))
	require.Equal(t, []string{"a", "c", "d"}, e.hosts(), "the driver's goes before the ApplicationMaster's own")
	e.setByDriver([]string{"a", "b", "c"})
	e.refresh(later(5), anyOf(nodes, 4))
	require.Equal(t, []string{"a", "b", "d"}, e.hosts(), "and gives way itself when none is left")
}

func TestTheUsersExclusionsAreNeverLifted(t *testing.T) {
	e, nodes := exclusionsOf("a", "b"), nodesNamed("a", "b")
	require.True(t, e.refresh(begin, anyOf(nodes, 2)))
	require.Equal(t, []string{"a", "b"}, e.hosts())
	require.Equal(t, []string{"yarn.exclude.nodes leaves no node that can take an executor"}, e.notes())
	nodes.report(yarn.NodeReport{ID: yarn.NodeID{Host: "c", Port: 1}, State: yarn.NodeRunning})
	e.invalidate()
	require.False(t, e.refresh(begin, anyOf(nodes, 3)))
	require.Empty(t, e.notes(), "there is one again")
}

func TestTheOnlyNodeIsNotExcluded(t *testing.T) {
	for _, nodes := range []*topology{nodesNamed("a"), newTopology(nil)} {
		e := exclusionsOf()
		e.failed("a", "x", begin)
		e.failed("a", "x", begin)
		require.False(t, e.refresh(begin, anyOf(nodes, 1)))
		require.Empty(t, e.hosts())
	}
}

func TestExclusionOnFailureCanBeOff(t *testing.T) {
	e := newExclusions(nil, false, 1, time.Hour, slog.New(slog.DiscardHandler))
	e.failed("a", "x", begin)
	require.False(t, e.refresh(begin, anyOf(nodesNamed("a", "b"), 2)))
}

// TestExclusionsWithRandomEvents checks that all hosts that the user excludes are excluded, that at
// least one other node is left, and that the ResourceManager's blacklist contains the active
// exclusions.
func TestExclusionsWithRandomEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := []string{"a", "b", "c", "d"}
		host := rapid.SampledFrom(hosts)
		users := rapid.SliceOfNDistinct(host, 0, 3, rapid.ID[string]).Draw(t, "users")
		e, nodes := exclusionsOf(users...), nodesNamed(hosts...)
		down := map[string]bool{}
		told := map[string]bool{}
		now := begin
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				e.failed(host.Draw(t, "fails"), "x", now)
			case 1:
				e.setByDriver(rapid.SliceOfDistinct(host, rapid.ID[string]).Draw(t, "driver's"))
			case 2:
				changed := host.Draw(t, "node")
				state := rapid.SampledFrom([]yarn.NodeState{yarn.NodeRunning, yarn.NodeLost}).Draw(t, "state")
				down[changed] = state == yarn.NodeLost
				nodes.report(yarn.NodeReport{ID: yarn.NodeID{Host: changed, Port: 1}, State: state})
				e.invalidate()
			case 3:
				e.resendAll()
				clear(told)
			}
			e.refresh(now, anyOf(nodes, 0))
			add, remove := e.changes()
			for _, name := range add {
				require.False(t, told[name], "sent twice")
				told[name] = true
			}
			for _, name := range remove {
				require.True(t, told[name])
				delete(told, name)
			}
			require.Equal(t, e.hosts(), slices.Sorted(maps.Keys(told)))
			could, can := 0, 0
			for _, name := range hosts {
				if !down[name] && !slices.Contains(users, name) {
					could++
				}
				if !down[name] && !e.has(name) {
					can++
				}
				require.True(t, !slices.Contains(users, name) || e.has(name))
			}
			require.True(t, could == 0 || can > 0, fmt.Sprint("nothing is left of ", could))
		}
	})
}

// TestNodesThatCannotServeDoNotCountAsLeft excludes one of two nodes. The other node may be too
// small for executors, or lack their label or other resources.
func TestNodesThatCannotServeDoNotCountAsLeft(t *testing.T) {
	large := yarn.Resource{MemoryMB: 8192, VCores: 8, Others: map[string]int64{"yarn.io/gpu": 2}}
	tests := map[string]struct {
		other sizeAndLabel // size and label of the other node
		wants sizeAndLabel
		left  bool
	}{
		"as large":            {sizeAndLabel{size: large}, sizeAndLabel{size: yarn.Resource{MemoryMB: 4096, VCores: 2}}, true},
		"too small":           {sizeAndLabel{size: yarn.Resource{MemoryMB: 2048, VCores: 8}}, sizeAndLabel{size: yarn.Resource{MemoryMB: 4096, VCores: 2}}, false},
		"too few cores":       {sizeAndLabel{size: yarn.Resource{MemoryMB: 8192, VCores: 1}}, sizeAndLabel{size: yarn.Resource{MemoryMB: 4096, VCores: 2}}, false},
		"without the label":   {sizeAndLabel{size: large}, sizeAndLabel{label: "fast"}, false},
		"with another label":  {sizeAndLabel{size: large, label: "fast"}, sizeAndLabel{}, false},
		"with no such device": {sizeAndLabel{size: yarn.Resource{MemoryMB: 8192, VCores: 8}}, sizeAndLabel{size: yarn.Resource{MemoryMB: 1024, Others: map[string]int64{"yarn.io/gpu": 1}}}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			nodes := nodesNamed("good", "other")
			nodes.report(yarn.NodeReport{
				ID: yarn.NodeID{Host: "other", Port: 1}, State: yarn.NodeRunning, Capability: test.other.size, Labels: labels(test.other.label),
			})
			nodes.report(yarn.NodeReport{
				ID: yarn.NodeID{Host: "good", Port: 1}, State: yarn.NodeRunning, Capability: large, Labels: labels(test.wants.label),
			})
			e := exclusionsOf()
			e.failed("good", "x", begin)
			e.failed("good", "x", begin)
			left := func() nodeCounts { return countNodes(nodes, 2, []sizeAndLabel{test.wants}) }
			require.Equal(t, test.left, e.refresh(begin, left), "the only node that serves may not be excluded")
			e.setByDriver([]string{"good"})
			e.refresh(begin, left)
			require.Equal(t, test.left, e.has("good"))
		})
	}
}

func labels(label string) []string {
	if label == "" {
		return nil
	}
	return []string{label}
}

// TestANodeIsLeftForEachProfile excludes node a1, the only node that can run the executors of the
// larger of two profiles.
func TestANodeIsLeftForEachProfile(t *testing.T) {
	f := twoNodes(1)
	f.topology.offered["a1"] = sizeAndLabel{size: yarn.Resource{MemoryMB: 8192, VCores: 8}}
	f.topology.offered["b1"] = sizeAndLabel{size: yarn.Resource{MemoryMB: 1024, VCores: 8}}
	large := small(1)
	large.Memory *= 4
	want := func(larges int) {
		f.want(driver.Request{ExcludedNodes: []string{"a1"}, Demands: []driver.Demand{{Profile: small(0), Total: 1}, {Profile: large, Total: larges}}}, begin)
		f.tick(begin, 2)
	}
	want(0)
	require.Equal(t, []string{"a1"}, f.excluded.hosts())
	want(1)
	require.Empty(t, f.excluded.hosts(), "only a1 takes the large one")
	want(0)
	require.Equal(t, []string{"a1"}, f.excluded.hosts())
}
