package main

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
)

func sortLocally(t *testing.T, args ...string) error {
	t.Helper()
	return bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error { return run(ctx, args) })
}

// randomLines returns n lines of random bytes without line ends. Every second line is at most
// one byte long, so that many lines are equal.
func randomLines(random *rand.Rand, n int) [][]byte {
	lines := make([][]byte, n)
	for i := range lines {
		for range []int{1, 200}[i%2] {
			lines[i] = append(lines[i], byte(random.IntN(243)+13))
		}
		lines[i] = bytes.ReplaceAll(lines[i], []byte("\r"), nil)
	}
	return lines
}

func TestTheLinesAreSorted(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	random := rand.New(rand.NewPCG(1, 2))
	var all [][]byte
	for _, name := range []string{"a", "b", "c"} {
		lines := randomLines(random, 10_000)
		all = append(all, lines...)
		require.NoError(t, os.WriteFile(filepath.Join(in, name), append(bytes.Join(lines, []byte("\n")), '\n'), 0o600))
	}
	require.NoError(t, sortLocally(t, in, out))
	parts, err := filepath.Glob(filepath.Join(out, "part-*"))
	require.NoError(t, err)
	require.Greater(t, len(parts), 1)
	var got []byte
	for _, part := range parts { // Glob returns sorted paths
		content, err := os.ReadFile(part)
		require.NoError(t, err)
		got = append(got, content...)
	}
	slices.SortFunc(all, bytes.Compare)
	want := append(bytes.Join(all, []byte("\n")), '\n')
	require.True(t, bytes.Equal(want, got))
}

func TestUsage(t *testing.T) {
	require.ErrorContains(t, sortLocally(t, "only-one"), "usage: sort")
	require.ErrorIs(t, sortLocally(t, t.TempDir()+"/missing", t.TempDir()+"/out"), fs.ErrNotExist)
}
