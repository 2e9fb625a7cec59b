package allocator

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// placementOf returns in with missing fields set to defaults.
func placementOf(in placement) placement {
	if in.localityAware == 0 {
		in.localityAware = in.missing
	}
	if in.usable == nil {
		in.usable = func(string) bool { return true }
	}
	in.rackOf = func(host string) (string, bool) { return rackOfLetter(host), host[:1] != "?" }
	in.shuffle = seeded().Shuffle
	return in
}

func TestPlace(t *testing.T) {
	type counts = map[string]int
	onlyA := func(host string) bool { return host[:1] == "a" }
	many := counts{}
	for i := range 100 {
		many[fmt.Sprintf("h%02d", i)] = 10
	}
	each := counts{}
	for host := range many {
		each[host] = 1
	}
	tests := []struct {
		name         string
		placement    placement
		hosts, racks counts
	}{
		{"nothing is missing", placement{missing: 0, nodes: []string{"a", "b"}}, nil, nil},
		{"nodes are unknown", placement{missing: 2}, nil, nil},
		{"one each on two nodes", placement{missing: 2, nodes: []string{"a", "b"}}, counts{"a": 1, "b": 1}, nil},
		{"the empty node first", placement{missing: 1, nodes: []string{"a", "b"}, byHost: counts{"a": 1}}, counts{"b": 1}, nil},
		{"where it is asked already", placement{missing: 1, nodes: []string{"a", "b", "c", "d"}, asked: counts{"c": 1}}, counts{"c": 1}, nil},
		{"among many nodes any will do", placement{missing: 1, nodes: []string{"a", "b", "c", "d", "e"}}, nil, nil},
		{"evenly over few nodes", placement{missing: 4, nodes: []string{"a", "b"}}, counts{"a": 2, "b": 2}, nil},
		{"in proportion to tasks", placement{missing: 4, nodes: []string{"a", "b", "c"}, hostTasks: counts{"a": 30, "b": 10}}, counts{"a": 3, "b": 1}, nil},
		{"the largest remainder before", placement{missing: 2, hostTasks: counts{"a": 9, "b": 7}}, counts{"a": 1, "b": 1}, nil},
		{"what is there counts", placement{missing: 2, byHost: counts{"a": 2}, hostTasks: counts{"a": 10, "b": 10}}, counts{"b": 2}, nil},
		{"a small share gets one", placement{missing: 1, hostTasks: counts{"a": 1}}, counts{"a": 1}, nil},
		{"whichever of equals has room", placement{missing: 10, hostTasks: many}, each, nil},
		{"not where little is lacking", placement{missing: 1, hostTasks: counts{"a": 100, "b": 1}}, counts{"a": 1}, nil},
		{"only as many as tasks can use", placement{missing: 10, localityAware: 1, hostTasks: counts{"a": 1}}, counts{"a": 1}, nil},
		{"racks of hosts that are no nodes", placement{missing: 4, hostTasks: counts{"a": 1, "b1": 1, "b2": 1, "?": 1}, usable: onlyA}, counts{"a": 1}, counts{"/b": 3}},
		{"what is in the rack counts", placement{missing: 1, hostTasks: counts{"a": 1, "b1": 1}, usable: onlyA, byRack: counts{"/b": 1}}, counts{"a": 1}, nil},
		{"nothing is known of the hosts", placement{missing: 1, hostTasks: counts{"?": 1}, usable: onlyA}, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := place(placementOf(test.placement))
			require.Equal(t, nonZero(test.hosts), nonZero(got.hosts))
			require.Equal(t, nonZero(test.racks), nonZero(got.racks))
		})
	}
}

// TestNoHostGetsMoreThanItsShare checks that the request for each host is at most the host's share,
// rounded up, and that as many executors are placed as the tasks can use.
func TestNoHostGetsMoreThanItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		s := placementOf(placement{
			missing:       rapid.IntRange(0, 50).Draw(t, "missing"),
			localityAware: rapid.IntRange(1, 60).Draw(t, "choosy"),
			nodes:         rapid.SliceOfDistinct(host, rapid.ID[string]).Draw(t, "nodes"),
			hostTasks:     rapid.MapOf(host, rapid.IntRange(1, 100)).Draw(t, "hostTasks"),
			byHost:        rapid.MapOf(host, rapid.IntRange(0, 20)).Draw(t, "placed"),
		})
		chosen := place(s).hosts
		total, tasks, pool := 0, 0, min(s.missing, s.localityAware)
		for name, count := range s.hostTasks {
			tasks += count
			pool += s.byHost[name]
		}
		for name, count := range chosen {
			require.Positive(t, count)
			total += count
			if len(s.hostTasks) > 0 {
				share := float64(pool*s.hostTasks[name])/float64(tasks) - float64(s.byHost[name])
				require.Less(t, float64(count), share+1)
			}
		}
		switch {
		case len(s.hostTasks) > 0:
			require.GreaterOrEqual(t, total, min(s.missing, s.localityAware))
		case len(s.nodes) > 1 && len(s.nodes) <= manyNodes*s.missing:
			require.Equal(t, s.missing, total, "every executor has a place of its own to ask for")
		default:
			require.Zero(t, total)
		}
	})
}

func BenchmarkPlaceByTasks(b *testing.B) {
	s := placementOf(placement{missing: 10_000, hostTasks: map[string]int{}, byHost: map[string]int{}})
	for i := range 2000 {
		s.hostTasks[fmt.Sprintf("host%04d", i)] = 10 + i%7
	}
	for b.Loop() {
		place(s)
	}
}
