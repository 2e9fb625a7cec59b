//go:build integration

package acceptance

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/storage"
)

// uncachedProgram returns the path of a copy of a program whose hash differs from all programs
// in the upload cache. The copy has additional bytes at its end, which ELF permits.
func uncachedProgram(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(program(name))
	require.NoError(t, err)
	own := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(own, fmt.Appendf(content, "%x", rand.Uint64()), 0o755))
	return own
}

func TestWordCountLeavesNothingAndUploadsOnce(t *testing.T) {
	t.Parallel()
	in, own, out := sourcesText(t), uncachedProgram(t, "wordcount"), outputPath(t)
	first := yarnSubmit(t, "submit", "--master", "yarn", "--num-executors", "2", own, in.path, out+"-1")
	require.Equal(t, 0, first.code)
	assert.Contains(t, first.stderr, "uploaded wordcount")
	assertCounts(t, in.words, out+"-1")
	assertNothingLeft(t, first.applicationID(t))

	before := cachedCopies(t)
	second := yarnSubmit(t, "submit", "--master", "yarn", "--num-executors", "2", own, in.path, out+"-2")
	require.Equal(t, 0, second.code)
	assert.Contains(t, second.stderr, "reused wordcount")
	assert.NotContains(t, second.stderr, "uploaded wordcount")
	assertCounts(t, in.words, out+"-2")
	assertNothingLeft(t, second.applicationID(t))
	assert.Subset(t, cachedCopies(t), before, "they are as they were, with their times")
}

func TestConcurrentSubmissionsKeepOneUpload(t *testing.T) {
	t.Parallel()
	own := uncachedProgram(t, "trouble")
	var all []*submitted
	for range 3 {
		all = append(all, commandLine{args: []string{"submit", "--num-executors", "1", own, "succeed", "1"}}.start(t))
	}
	for _, one := range all {
		assert.Equal(t, 0, one.wait(t).code)
	}
	content, err := os.ReadFile(own)
	require.NoError(t, err)
	entries, err := shared.files.List(t.Context(), fmt.Sprintf("%s/.bobbin/cache/%x", home(t), sha256.Sum256(content)))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "trouble", entries[0].Name)
}

// cachedCopies returns the files in the upload cache that are named wordcount.
func cachedCopies(t *testing.T) []storage.Info {
	t.Helper()
	entries, err := tree(t.Context(), shared.files, home(t)+"/.bobbin/cache")
	require.NoError(t, err)
	return slices.DeleteFunc(entries, func(entry storage.Info) bool { return entry.Name != "wordcount" })
}

// TestMapTasksAreNodeLocal is not parallel: it needs the whole cluster to get an executor on
// every node. Each node has room for two of its large executors, or for one and the
// ApplicationMaster.
func TestMapTasksAreNodeLocal(t *testing.T) {
	in, out := sourcesText(t), outputPath(t)
	executors := 2*len(shared.hadoop.Nodes()) - 1
	done := yarnSubmit(t, "submit", "--num-executors", strconv.Itoa(executors), "--executor-memory", "4g", "--driver-memory", "1g",
		"--conf", "scheduler.maxRegisteredResourcesWaitingTime="+testTimeout.String(),
		"--conf", "locality.wait="+testTimeout.String(), program("wordcount"), "-split", strconv.Itoa(1<<20), in.path, out)
	require.Equal(t, 0, done.code)
	assertCounts(t, in.words, out)

	// Map tasks prefer the nodes with their splits' blocks. Reduce tasks prefer nodes with a
	// large part of their map output.
	local := summaryNumber(t, done, `locality .*\b(\d+) node-local`)
	assert.Equal(t, summaryNumber(t, done, `tasks +(\d+) in 2 task sets`), local)
}

// summaryNumber returns the number that the pattern's first group matches in the summary that
// yarn-submit prints to stderr.
func summaryNumber(t *testing.T, done outcome, pattern string) int {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(done.stderr)
	require.NotNil(t, found, "%s", pattern)
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}
