//go:build integration

package masters

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDataSetOperators runs the program operators: sort, join, group, cached data sets,
// broadcast values, counters, pools, cancellation and, if executors are processes,
// speculation. Half of the lines have the same key. The outputs must equal those of a plain
// computation.
func TestDataSetOperators(t *testing.T) {
	const count = 200_000
	var content bytes.Buffer
	var sorted, joined, groups []string
	numbers := map[string][]int64{}
	random := rand.New(rand.NewPCG(1, 2))
	for range count {
		key, number := "hot", random.Int64N(1000)
		if random.IntN(2) == 0 {
			key = fmt.Sprint("key-", random.IntN(5000))
		}
		line := fmt.Sprintf("%s\t%d", key, number)
		fmt.Fprintln(&content, line)
		sorted, numbers[key] = append(sorted, line), append(numbers[key], number)
	}
	slices.Sort(sorted)
	labels := map[string]string{"hot": "frequent"}
	for key, of := range numbers {
		total := int64(0)
		for _, number := range of {
			total += number
		}
		for _, number := range of {
			joined = append(joined, fmt.Sprintf("%s\t%d\t%d", key, number, total))
		}
		groups = append(groups, fmt.Sprintf("%s\t%s\t%d\t%d", key, labels[key], len(of), total))
	}
	slices.Sort(joined)
	slices.Sort(groups)
	in := filepath.Join(t.TempDir(), "in.txt")
	require.NoError(t, os.WriteFile(in, content.Bytes(), 0o644))

	eachMaster(t, anyMaster, func(t *testing.T, m master) {
		out := t.TempDir()
		settings := slices.Concat(twoSmallExecutors, []string{"--conf", "scheduler.mode=FAIR"})
		var flags []string
		if m.separateExecutors { // a speculative copy needs a second executor
			settings = append(settings, "--conf", "speculation=true", "--conf", "speculation.quantile=0.5")
			flags = []string{"-straggle"}
		}
		require.Zero(t, m.run(t, settings, "operators", append(flags, "file://"+in, "file://"+out)...).code)

		assert.True(t, slices.Equal(sorted, readLines(t, out+"/sorted")), "the lines are not sorted")
		for name, want := range map[string][]string{"joined": joined, "groups": groups} {
			got := readLines(t, filepath.Join(out, name))
			slices.Sort(got)
			assert.True(t, slices.Equal(want, got), "%s: %d lines, want %d", name, len(got), len(want))
		}
		report := fmt.Sprintf(`%d entries, %d lines read, pools ["default" "groups" "joins"]`, count, count)
		assert.Equal(t, []string{report}, readLines(t, out+"/report"))
		entries, err := os.ReadDir(out)
		require.NoError(t, err)
		assert.Len(t, entries, 4, "the cancelled job has left files: %v", entries)
	})
}

// readLines returns the lines of all part files of an output directory.
func readLines(t *testing.T, directory string) (lines []string) {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(directory, "part-*"))
	require.NoError(t, err)
	for _, part := range parts {
		content, err := os.ReadFile(part)
		require.NoError(t, err)
		for line := range strings.Lines(string(content)) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}
