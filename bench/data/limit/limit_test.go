package limit

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage"
)

// samplesOf writes a text and the left and right tables of a join. It returns the paths of
// their directories.
func samplesOf(t *testing.T) (text, left, right string) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	write := func(line func() string) string {
		dir := t.TempDir()
		for file := range 3 {
			var content strings.Builder
			for range 1000 {
				content.WriteString(line() + "\n")
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(file)), []byte(content.String()), 0o600))
		}
		return dir
	}
	row := func() string { return fmt.Sprintf("%d\tvalue %d", random.IntN(2000), random.IntN(1000)) }
	text = write(func() string {
		return strings.Repeat("w", random.IntN(30)) + fmt.Sprintf(" %d %d", random.IntN(5000), random.IntN(10))
	})
	return text, write(row), write(row)
}

func linesOf(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	var all []string
	for _, name := range names {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		if len(content) > 0 {
			all = append(all, strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")...)
		}
	}
	return all
}

func run(t *testing.T, job func(context.Context, *storage.Files, string, ...string) error, in ...string) []string {
	t.Helper()
	files := storage.New(storage.Options{})
	defer files.Close()
	out := filepath.Join(t.TempDir(), "out")
	require.NoError(t, job(t.Context(), files, out, in...))
	return linesOf(t, out)
}

func TestJobs(t *testing.T) {
	text, left, right := samplesOf(t)

	counts := map[string]int{}
	for _, line := range linesOf(t, text) {
		for word := range strings.FieldsSeq(line) {
			counts[word]++
		}
	}
	var want []string
	for word, n := range counts {
		want = append(want, fmt.Sprintf("%s\t%d", word, n))
	}
	require.ElementsMatch(t, want, run(t, WordCount, text))

	require.Equal(t, slices.Sorted(slices.Values(linesOf(t, text))), run(t, Sort, text))

	rows := map[string][]string{}
	for _, line := range linesOf(t, right) {
		key, value, _ := strings.Cut(line, "\t")
		rows[key] = append(rows[key], value)
	}
	want = nil
	for _, line := range linesOf(t, left) {
		key, _, _ := strings.Cut(line, "\t")
		for _, value := range rows[key] {
			want = append(want, line+"\t"+value)
		}
	}
	slices.Sort(want)
	require.Equal(t, want, slices.Sorted(slices.Values(run(t, Join, left, right))))
}

func TestPageRank(t *testing.T) {
	dir := t.TempDir()
	// Two pages that link to each other keep their rank. No page links to c, so c has no rank.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "links"), []byte("a b\nb a\n"), 0o600))
	require.ElementsMatch(t, []string{"a\t1", "b\t1"}, run(t, PageRank, dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "links"), []byte("a b\nb a\nc a\n"), 0o600))
	ranks := run(t, PageRank, dir)
	require.Len(t, ranks, 2)
}

func TestSpans(t *testing.T) {
	for _, text := range []string{"", "\n", "a\n", "a\nb\n", strings.Repeat("some line\n", 100), strings.Repeat("x", 100) + "\ny\n"} {
		data := []byte(text)
		var joined []byte
		for _, s := range spans(data) {
			s.lines(data, func(l line) { joined = append(append(joined, l.of(data)...), '\n') })
		}
		require.True(t, bytes.Equal(data, joined), "%q", text)
	}
}
