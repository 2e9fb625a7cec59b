package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
)

func rankLocally(t *testing.T, args ...string) error {
	t.Helper()
	return bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error { return run(ctx, args) })
}

// pageRankInMemory computes the expected ranks without data sets.
func pageRankInMemory(links map[string][]string, iterations int) map[string]float64 {
	ranks := map[string]float64{}
	for page := range links {
		ranks[page] = 1
	}
	for range iterations {
		next := map[string]float64{}
		for page, rank := range ranks {
			for _, to := range links[page] {
				next[to] += rank / float64(len(links[page]))
			}
		}
		for page, sum := range next {
			next[page] = 0.15 + 0.85*sum
		}
		ranks = next
	}
	return ranks
}

func TestTheRanksAreRight(t *testing.T) {
	links := map[string][]string{}
	var text strings.Builder
	for i := range 2000 {
		from, to := fmt.Sprint("page", i*i%97), fmt.Sprint("page", i*i*i%101)
		links[from] = append(links[from], to)
		fmt.Fprintln(&text, from, to)
	}
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.WriteFile(in, []byte(text.String()), 0o600))
	require.NoError(t, rankLocally(t, "-iterations", "4", in, out))
	got := map[string]float64{}
	parts, err := filepath.Glob(filepath.Join(out, "part-*"))
	require.NoError(t, err)
	for _, part := range parts {
		content, err := os.ReadFile(part)
		require.NoError(t, err)
		for line := range strings.Lines(string(content)) {
			page, rank, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got[page], err = strconv.ParseFloat(rank, 64)
			require.NoError(t, err)
		}
	}
	require.InDeltaMapValues(t, pageRankInMemory(links, 4), got, 1e-9)
}

func TestUsage(t *testing.T) {
	require.ErrorContains(t, rankLocally(t, "only-one"), "usage: pagerank")
	require.ErrorContains(t, rankLocally(t, "-iterations", "0", "in", "out"), "usage: pagerank")
}
