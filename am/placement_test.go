package am

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func TestPlace(t *testing.T) {
	tests := []struct {
		name              string
		n                 int
		nodes             []string
		placed, hostTasks map[string]int
		want              map[string]int
	}{
		{"nothing is missing", 0, []string{"a", "b"}, nil, nil, nil},
		{"nodes are unknown", 2, nil, nil, nil, nil},
		{"one each on two nodes", 2, []string{"a", "b"}, nil, nil, map[string]int{"a": 1, "b": 1}},
		{"the empty node first", 1, []string{"a", "b"}, map[string]int{"a": 1}, nil, map[string]int{"b": 1}},
		{"among many nodes any will do", 1, []string{"a", "b", "c", "d", "e"}, nil, nil, nil},
		{"evenly over few nodes", 4, []string{"a", "b"}, nil, nil, map[string]int{"a": 2, "b": 2}},
		{"in proportion to tasks", 4, []string{"a", "b", "c"}, nil, map[string]int{"a": 30, "b": 10}, map[string]int{"a": 3, "b": 1}},
		{"the largest remainder before", 2, []string{"a", "b"}, nil, map[string]int{"a": 4, "b": 2}, map[string]int{"a": 1, "b": 1}},
		{"what is there counts", 2, []string{"a", "b"}, map[string]int{"a": 2}, map[string]int{"a": 10, "b": 10}, map[string]int{"b": 2}},
		{"a small share gets one", 1, nil, nil, map[string]int{"a": 1}, map[string]int{"a": 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, place(test.n, test.nodes, test.placed, test.hostTasks, seeded()))
		})
	}
}

func TestPlaceAsksForNoMoreThanIsMissing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"})
		counts := rapid.MapOf(host, rapid.IntRange(0, 20))
		n := rapid.IntRange(0, 50).Draw(t, "n")
		nodes := rapid.SliceOfDistinct(host, rapid.ID[string]).Draw(t, "nodes")
		hostTasks := rapid.MapOf(host, rapid.IntRange(1, 100)).Draw(t, "hostTasks")
		chosen := place(n, nodes, counts.Draw(t, "placed"), hostTasks, seeded())
		total := 0
		for _, count := range chosen {
			require.Positive(t, count)
			total += count
		}
		require.LessOrEqual(t, total, n)
		if len(hostTasks) == 0 && len(nodes) > 1 && len(nodes) <= manyNodes*n {
			require.Equal(t, n, total, "every executor has a place of its own to ask for")
		}
	})
}
