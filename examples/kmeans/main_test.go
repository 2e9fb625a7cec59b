package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
)

func kmeans(t *testing.T, args ...string) error {
	t.Helper()
	return bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error { return run(ctx, args) })
}

// kmeansInMemory computes the expected centers without data sets.
func kmeansInMemory(points []point, k, iterations int) []point {
	centers := append([]point(nil), points[:k]...)
	for range iterations {
		sums := make([]cluster, k)
		for _, p := range points {
			i := nearestTo(p, centers)
			sums[i] = merge(sums[i], cluster{p, 1})
		}
		for i, sum := range sums {
			if sum.Points > 0 {
				centers[i] = point{sum.Sum[0] / float64(sum.Points), sum.Sum[1] / float64(sum.Points)}
			}
		}
	}
	return centers
}

func TestTheCentersAreRight(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	middles := []point{{0, 0}, {10, 10}, {-5, 20}}
	var points []point
	var text strings.Builder
	for i := range 3000 {
		middle := middles[i%3]
		p := point{middle[0] + random.NormFloat64(), middle[1] + random.NormFloat64()}
		points = append(points, p)
		fmt.Fprintf(&text, "%v, %v\n", p[0], p[1])
	}
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(in, []byte(text.String()), 0o600))
	require.NoError(t, kmeans(t, "-k", "3", "-iterations", "5", in, out))
	content, err := os.ReadFile(filepath.Join(out, "part-00000"))
	require.NoError(t, err)
	want := kmeansInMemory(points, 3, 5)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	require.Len(t, lines, 3)
	for i, line := range lines {
		got, err := parse([]byte(line))
		require.NoError(t, err)
		require.InDeltaSlice(t, want[i], got, 1e-9)
		require.InDeltaSlice(t, middles[i], got, 0.2)
	}
}

func TestInvalidInput(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(in, []byte("1,2\n1,two\n"), 0o600))
	require.ErrorContains(t, kmeans(t, in), `parsing "two"`)
	require.ErrorContains(t, kmeans(t, "-k", "0", in), "usage: kmeans")
	require.ErrorContains(t, kmeans(t), "usage: kmeans")
}
