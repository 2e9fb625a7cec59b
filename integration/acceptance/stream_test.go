//go:build integration

package acceptance

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/text"
)

// streamScripts are the mapper and the reducer of a word count. The first attempt of reducer 1
// kills its executor, so that the executor's map output is lost.
var streamScripts = map[string]string{
	"words.awk": `{ for (i = 1; i <= NF; i++) print $i "\t1"; n += NF } END { print "reporter:counter:words,mapped," n > "/dev/stderr" }`,
	"sum.sh": `#!/bin/sh
case $mapreduce_task_id in
*_r_000001) if [ ! -e "$MARK" ]; then : > "$MARK"; kill -9 $PPID; exit 1; fi ;;
esac
awk -F '\t' '
  $1 "" != key { if (NR > 1) print key "\t" sum; key = $1; sum = 0; keys++ }
  { sum += $2 }
  END { print key "\t" sum; if (ENVIRON["mapreduce_task_ismap"] == "false") print "reporter:counter:words,different," keys > "/dev/stderr" }'
`,
}

// streamInput writes files with random words to a directory in HDFS. It returns the number of
// occurrences of each word.
func streamInput(t *testing.T, directory string) map[string]int64 {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var all bytes.Buffer
	for i := range 5 {
		var content bytes.Buffer
		for range 2000 {
			fmt.Fprintf(&content, "a%d b%d\tc%d\n", random.IntN(3000), random.IntN(30), random.IntN(3))
		}
		require.NoError(t, shared.put(t.Context(), fmt.Sprintf("%s/in-%d", directory, i), content.Bytes()))
		all.Write(content.Bytes())
	}
	return text.Count(all.Bytes())
}

func TestStreamIsExactThoughAnExecutorDies(t *testing.T) {
	t.Parallel()
	require.Equal(t, "127.0.0.1", shared.driverHost, "scripts need a file on this machine: the cluster cannot be in containers")
	in, out := outputPath(t), outputPath(t)
	words := streamInput(t, in)
	mark := filepath.Join(t.TempDir(), "killed")
	done := commandLine{directory: workingDirectory(t, streamScripts), args: []string{
		"stream", "--map", "awk -f words.awk", "--combine", "./sum.sh", "--reduce", "./sum.sh", "--files", "words.awk", "--env", "MARK=" + mark,
		"--reducers", "3", "--num-executors", "2", "--executor-memory", "256m", "--conf", "executor.maxNumFailures=5", "--conf", "shuffle.service=off", in, out,
	}}.run(t)
	require.Equal(t, 0, done.code)
	assert.FileExists(t, mark, "an executor was killed")
	assertCounts(t, words, out)
	for part := range 3 {
		_, err := shared.files.Stat(t.Context(), fmt.Sprintf("%s/part-%05d", out, part))
		assert.NoError(t, err)
	}
	id := done.applicationID(t)
	mapped := int64(0)
	for _, n := range words {
		mapped += n
	}
	logs := yarnSubmit(t, "logs", id)
	assert.Contains(t, logs.stdout, fmt.Sprintf("counter words/different %d\ncounter words/mapped %d\n", len(words), mapped), "each task counts once")
	assertNothingLeft(t, id)
}

// TestAStreamingStepSortsAndCompresses runs a job file whose step sorts the numbers of each name.
func TestAStreamingStepSortsAndCompresses(t *testing.T) {
	t.Parallel()
	in, out := outputPath(t), outputPath(t)
	var input, want []string
	for i := range 60 {
		name, number := fmt.Sprint("name-", i%5), i*7%60
		input = append(input, fmt.Sprintf("%s,%d,x\n", name, number))
		want = append(want, fmt.Sprintf("%s,%d\tx\n", name, number))
	}
	require.NoError(t, shared.put(t.Context(), in, []byte(strings.Join(input, ""))))
	job := fmt.Sprintf(`steps:
  sort:
    stream:
      input: [%s]
      output: %s
      map: [cat]
      reduce: [cat]
      separator: ","
      key_fields: 2
      sort: -k1,1 -k2,2nr
      partition: -k1,1
      reducers: 2
      compress: gzip
`, in, out)
	done := commandLine{directory: workingDirectory(t, map[string]string{"job.yaml": job}),
		args: []string{"run", "--num-executors", "1", "--executor-memory", "256m", "job.yaml"}}.run(t)
	require.Equal(t, 0, done.code, done.stderr)
	number := func(line string) (name string, n int) {
		name, rest, _ := strings.Cut(line, ",")
		_, err := fmt.Sscanf(rest, "%d\tx\n", &n)
		require.NoError(t, err, "%q", line)
		return name, n
	}
	var got []string
	parts := map[string]int{} // by name
	for part := range 2 {
		content, err := gzip.NewReader(strings.NewReader(readHDFS(t, fmt.Sprintf("%s/part-%05d.gz", out, part))))
		require.NoError(t, err)
		text, err := io.ReadAll(content)
		require.NoError(t, err)
		lines := slices.Collect(strings.Lines(string(text)))
		assert.True(t, slices.IsSortedFunc(lines, func(a, b string) int {
			nameA, a1 := number(a)
			nameB, b1 := number(b)
			return cmp.Or(strings.Compare(nameA, nameB), b1-a1)
		}), "%s", text)
		for _, line := range lines {
			name, _ := number(line)
			if other, seen := parts[name]; seen {
				assert.Equal(t, other, part, "%s is in two parts", name)
			}
			parts[name] = part
		}
		got = append(got, lines...)
	}
	assert.ElementsMatch(t, want, got)
	assertNothingLeft(t, done.applicationID(t))
}

func TestStreamReturnsTheExitStatus(t *testing.T) {
	t.Parallel()
	in, out := outputPath(t), outputPath(t)
	require.NoError(t, shared.put(t.Context(), in, []byte("a line\n")))
	for _, mode := range []string{"cluster", "client"} {
		done := yarnSubmit(t, "stream", "--deploy-mode", mode, "--num-executors", "1", "--executor-memory", "256m", "--conf", "task.maxFailures=2",
			"--map", "cat", "--reduce", `sh -c "echo it broke >&2; exit 7"`, in, out)
		assert.Equal(t, 7, done.code, done.stderr)
		assert.Contains(t, done.stderr, "command: reduce task 0 exited with status 7\n")
		assert.Contains(t, done.stderr, "\nit broke\n")
		assertNotInHDFS(t, out)
	}
}
