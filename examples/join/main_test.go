package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
)

func joinLocally(t *testing.T, args ...string) error {
	t.Helper()
	return bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error { return run(ctx, args) })
}

// writeTable writes a table of n rows with at most the given number of different keys, a line
// without a value, and an empty line. It returns the table's path and the n rows by key.
func writeTable(t *testing.T, name string, n, keys int) (path string, rows map[string][]string) {
	t.Helper()
	rows = map[string][]string{}
	var text strings.Builder
	for i := range n {
		key, value := fmt.Sprint("key", i*i%keys), fmt.Sprintf("%s\t%d", name, i)
		rows[key] = append(rows[key], value)
		fmt.Fprintf(&text, "%s\t%s\n", key, value)
	}
	fmt.Fprintf(&text, "only in %s\n\n", name)
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path, rows
}

func TestTheJoinIsRight(t *testing.T) {
	left, lefts := writeTable(t, "left", 500, 97)
	right, rights := writeTable(t, "right", 300, 89)
	want := []string{"\t\t"} // the pair of the tables' empty lines
	for key, values := range lefts {
		for _, l := range values {
			for _, r := range rights[key] {
				want = append(want, key+"\t"+l+"\t"+r)
			}
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	require.NoError(t, joinLocally(t, left, right, out))
	parts, err := filepath.Glob(filepath.Join(out, "part-*"))
	require.NoError(t, err)
	var got []string
	for _, part := range parts {
		content, err := os.ReadFile(part)
		require.NoError(t, err)
		for line := range strings.Lines(string(content)) {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	require.ElementsMatch(t, want, got)
}

func TestUsage(t *testing.T) {
	require.ErrorContains(t, joinLocally(t, "left", "right"), "usage: join")
}
