package streaming

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/process"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

// streamed runs a job on this machine. Each of inputs is the content of one input file.
// streamed returns the contents of the output files by name, and the counters.
func streamed(t *testing.T, job Job, inputs ...string) (files map[string]string, counters map[string]int64, err error) {
	t.Helper()
	in := t.TempDir()
	for i, content := range inputs {
		require.NoError(t, os.WriteFile(filepath.Join(in, fmt.Sprintf("in-%d", i)), []byte(content), 0o600))
	}
	if job.Inputs == nil {
		job.Inputs = []string{in}
	}
	if job.Output == "" {
		job.Output = filepath.Join(t.TempDir(), "out")
	}
	t.Setenv("LOG_DIRS", t.TempDir())
	err = bobbin.RunLocal(t.Context(), "local[2]", func(ctx context.Context) error {
		session, err := bobbin.NewSession(ctx)
		require.NoError(t, err)
		defer session.Close()
		counters, err = Run(ctx, session, job, StepInfo{Name: "s", Links: process.Links{Local: true}})
		return err
	})
	return parts(t, job.Output), counters, err
}

func parts(t *testing.T, directory string) map[string]string {
	t.Helper()
	files := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(directory, "part-*"))
	require.NoError(t, err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = string(content)
	}
	return files
}

func properties(pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}

const (
	wordsOf  = `tr -s ' ' '\n' | sed '/^$/d; s/$/	1/'; echo reporter:counter:maps,done,1 >&2`
	sumsOf   = `awk -F '\t' '$1 "" != word { if (NR > 1) print word "\t" n; word = $1; n = 0 } { n += $2 } END { print word "\t" n }'; `
	combined = sumsOf + `echo reporter:counter:combines,done,1 >&2`
	reduced  = sumsOf + `echo reporter:counter:reduces,done,1 >&2`
)

func TestWordCount(t *testing.T) {
	inputs := []string{"to be or not\nto be\n", "be not\n  to  \n", strings.Repeat("x y z ", 1000) + "\n"}
	want := map[string]int{}
	for _, input := range inputs {
		for _, word := range strings.Fields(input) {
			want[word]++
		}
	}
	for _, combine := range [][]string{nil, sh(combined)} {
		job := Job{Map: sh(wordsOf), Combine: combine, Reduce: sh(reduced), Properties: properties(PropertyReducers, "3")}
		files, counters, err := streamed(t, job, inputs...)
		require.NoError(t, err)
		require.Len(t, files, 3)
		got := map[string]int{}
		used := 0
		for name, content := range files {
			var words []string
			for line := range strings.Lines(content) {
				word, n := "", 0
				_, err := fmt.Sscanf(line, "%s\t%d\n", &word, &n)
				require.NoError(t, err)
				words = append(words, word)
				got[word] += n
				require.Equal(t, name, fmt.Sprintf("part-%05d", (&keyOptions{}).partition([]byte(word), 3)))
			}
			require.True(t, slices.IsSorted(words))
			used += min(len(words), 1)
		}
		require.Equal(t, want, got)
		wantCounters := map[string]int64{"maps/done": 3, "reduces/done": int64(used)}
		if combine != nil {
			wantCounters["combines/done"] = 3
		}
		require.Equal(t, wantCounters, counters)
	}
}

func TestMapOnly(t *testing.T) {
	files, _, err := streamed(t, Job{Map: []string{"cat", "-n"}}, "a\nb\n", "c")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"part-00000": "     1\ta\n     2\tb\n", "part-00001": "     1\tc\n"}, files, "a file for each split")
}

func TestSeveralInputsAndNoReduceCommand(t *testing.T) {
	in := t.TempDir()
	for name, content := range map[string]string{"one": "b\t1\na\n", "two": "c\t\na\t2\n", "three": "z\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(in, name), []byte(content), 0o600))
	}
	job := Job{Inputs: []string{filepath.Join(in, "one"), filepath.Join(in, "two")}, Map: []string{"cat"}, Properties: properties(PropertyReducers, "1")}
	files, _, err := streamed(t, job)
	require.NoError(t, err)
	require.Contains(t, []string{"a\na\t2\nb\t1\nc\n", "a\t2\na\nb\t1\nc\n"}, files["part-00000"])
	require.Len(t, files, 1)
}

func TestReducersGetSortedLines(t *testing.T) {
	job := func(more ...string) Job {
		return Job{Map: []string{"cat"}, Reduce: []string{"cat"}, Properties: properties(more...)}
	}
	lines := func(job Job, input string) string {
		files, _, err := streamed(t, job, input)
		require.NoError(t, err)
		return files["part-00000"]
	}
	require.Equal(t, "10\t\n9\t\nab\tx\nb\t\n", lines(job(), "b\n9\nab\tx\n10\n"), "by bytes; there is always a separator")
	require.Equal(t, "9\t\n10\ty\n100\tx\n", lines(job(PropertySort, "-n"), "100\tx\n9\n10\ty\n"))
	require.Equal(t, "b,2\tx\nc,1\tz\na,1\ty\n", lines(job(PropertySeparator, ",", PropertyKeyFields, "2", PropertySort, "-k2,2nr -k1,1r", PropertyKeySeparator, ","), "a,1,y\nb,2,x\nc,1,z\n"))
	require.Equal(t, "a:1;x\n", lines(job(PropertySeparator, ":", PropertyKeyFields, "2", propertyReduceInput, ";"), "a:1:x\n"))
	require.Equal(t, "a|b:c\n", lines(job(propertyReduceSeparator, ":", propertyOutputSeparator, "|", propertyReduceInput, ":"), "a\tb:c\n"))
	require.Equal(t, "a-b\n", lines(job(propertyOutputSeparator, "-"), "a\tb\n"))
}

func TestLinesAreDividedByFields(t *testing.T) {
	job := Job{Map: []string{"cat"}, Reduce: []string{"cat"}, Properties: properties(PropertyReducers, "8", PropertySeparator, ".", PropertyKeyFields, "3",
		PropertyKeySeparator, ".", PropertyPartition, "-k1,2")}
	files, _, err := streamed(t, job, "11.12.1.2\n11.14.2.3\n11.11.4.1\n11.12.1.1\n11.14.2.2\n")
	require.NoError(t, err)
	together := map[string]string{}
	for name, content := range files {
		for line := range strings.Lines(content) {
			fields := line[:5]
			require.Contains(t, []string{"", name}, together[fields], "lines with equal fields are together")
			together[fields] = name
		}
	}
	require.Len(t, together, 3)
}

func TestTheEnvironmentOfCommands(t *testing.T) {
	script := `env | grep -E '^(mapreduce|mapred|map|my|MINE|stream)_?' | sort | sed 's/^/'$mapreduce_task_ismap' /'`
	job := Job{Name: "named", Map: sh(script), Reduce: sh(`tr -d '\t'; ` + script), Environment: map[string]string{"MINE": "yes"},
		Properties: properties("my.own-property", "7", "mapred.reduce.tasks", "2", PropertyKeyFields, "9")}
	files, _, err := streamed(t, job, "a line\n")
	require.NoError(t, err)
	all := files["part-00000"] + files["part-00001"]
	for _, line := range []string{
		"true mapreduce_task_ismap=true", "true mapreduce_job_name=named", "true my_own_property=7", "true MINE=yes", "true stream_num_map_output_key_fields=9",
		"true mapreduce_map_input_start=0", "true mapreduce_map_input_length=7", "true map_input_length=7", "true mapreduce_job_reduces=2",
		"true mapred_reduce_tasks=2", "true mapreduce_task_partition=0", "false mapreduce_task_ismap=false", "false mapred_task_is_map=false",
	} {
		require.Contains(t, all, line+"\n")
	}
	require.Regexp(t, `(?m)^true mapreduce_map_input_file=file:///.*/in-0$`, all)
	require.Regexp(t, `(?m)^true mapreduce_task_attempt_id=attempt_local-\w+_m_000000_0$`, all)
	require.Regexp(t, `(?m)^false mapreduce_task_id=task_local-\w+_r_00000[01]$`, all)
	require.NotContains(t, all, "false mapreduce_map_input_file")
}

func TestCommandsThatFail(t *testing.T) {
	for name, test := range map[string]struct {
		job  Job
		want string
	}{
		"map":       {Job{Map: sh("cat; echo it broke >&2; exit 5")}, "command: step s: map task 0 exited with status 5\nit broke"},
		"killed":    {Job{Map: sh("kill -9 $$")}, "command: step s: map task 0 exited with status 137 (killed)"},
		"combine":   {Job{Map: []string{"cat"}, Combine: sh("exit 3"), Reduce: []string{"cat"}}, "command: step s: combine task 0 exited with status 3"},
		"reduce":    {Job{Map: []string{"cat"}, Reduce: sh("head -1; exit 4")}, "command: step s: reduce task 0 exited with status 4"},
		"no such":   {Job{Map: []string{"no-such-command"}}, `command: step s: map task 0: exec: "no-such-command": executable file not found`},
		"counters":  {Job{Map: sh(`i=0; while [ $i -le 130 ]; do echo reporter:counter:g,$i,1 >&2; i=$((i+1)); done`)}, "a command reports more than 120 counters"},
		"no input":  {Job{Map: []string{"cat"}, Inputs: []string{"/no/such/directory"}}, "/no/such/directory"},
		"no map":    {Job{}, "no map command"},
		"reducers":  {Job{Map: []string{"cat"}, Reduce: []string{"cat"}, Properties: properties(PropertyReducers, "0")}, "at least one reducer"},
		"number":    {Job{Map: []string{"cat"}, Properties: properties(PropertyReducers, "few")}, `mapreduce.job.reduces is "few": want a whole number from 0`},
		"flag":      {Job{Map: []string{"cat"}, Properties: properties(propertyExit, "no")}, `want true or false`},
		"sort":      {Job{Map: []string{"cat"}, Properties: properties(PropertySort, "-z")}, `mapreduce.partition.keycomparator.options: "-z" is not known`},
		"codec":     {Job{Map: []string{"cat"}, Properties: properties(propertyCompress, "true", propertyCodec, "x.LzoCodec")}, "x.LzoCodec: want the class of one of gzip, zstd"},
		"partition": {Job{Map: []string{"cat"}, Properties: properties(propertyPartitioner, "org.example.Mine")}, "Java classes do not run here"},
	} {
		t.Run(name, func(t *testing.T) {
			files, _, err := streamed(t, test.job, "line\n")
			require.ErrorContains(t, err, test.want)
			require.Empty(t, files)
		})
	}
}

func TestExitStatusesThatAreNoFailures(t *testing.T) {
	job := Job{Map: sh("cat; exit 1"), Properties: properties(propertyExit, "false")}
	files, _, err := streamed(t, job, "line\n")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"part-00000": "line\n"}, files)
}

func TestOutput(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	job := Job{Map: []string{"cat"}, Output: out, Properties: properties("mapred.output.compress", "true", propertyCodec, "org.apache.hadoop.io.compress.GzipCodec")}
	_, _, err := streamed(t, job, "line\n")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(out, "part-00000.gz"))
	_, _, err = streamed(t, job, "line\n")
	require.ErrorIs(t, err, os.ErrExist)
	job.Overwrite, job.Properties = true, nil
	files, _, err := streamed(t, job, "line\n")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"part-00000": "line\n"}, files)
}

func TestStderrGoesToTheLog(t *testing.T) {
	_, _, err := streamed(t, Job{Map: sh("echo said >&2; echo reporter:status:fine >&2")}, "line\n")
	require.NoError(t, err)
	content, err := os.ReadFile(filepath.Join(os.Getenv("LOG_DIRS"), "s.map-0-0.err"))
	require.NoError(t, err)
	require.Equal(t, "said\nstatus: fine\n", string(content))
}

func TestIgnoredProperties(t *testing.T) {
	job := Job{Properties: properties("mapreduce.map.memory.mb", "1", "mapred.reduce.tasks", "1", PropertySort, "-n", "my.own", "1", "stream.foo", "1")}
	require.Equal(t, []string{"mapreduce.map.memory.mb", "stream.foo"}, job.Ignored())
}

// TestTheOutputIsThatOfHadoopStreaming compares output files with files that Hadoop Streaming
// wrote, byte for byte; see testdata/README.md.
func TestTheOutputIsThatOfHadoopStreaming(t *testing.T) {
	sums := []string{"awk", "-F", `\t`, `$1 "" != word { if (NR > 1) print word "\t" n; word = $1; n = 0 } { n += $2 } END { print word "\t" n }`}
	for name, job := range map[string]Job{
		"words": {
			Map: []string{"awk", `{ for (i = 1; i <= NF; i++) print $i "\t1" }`}, Combine: sums, Reduce: sums, Properties: properties(PropertyReducers, "3"),
		},
		"keys": {
			Map: []string{"cat"}, Reduce: []string{"cat"},
			Properties: properties(PropertyReducers, "4", PropertySeparator, ",", PropertyKeySeparator, ".", PropertyPartition, "-k1,1", PropertySort, "-k1,1r -k2,2nr",
				propertyReduceInput, ";", propertyReduceSeparator, ";", propertyOutputSeparator, "|"),
		},
	} {
		input, err := os.ReadFile(filepath.Join("testdata", name+".in"))
		require.NoError(t, err)
		want := map[string]string{}
		paths, err := filepath.Glob(filepath.Join("testdata", name+".part-*"))
		require.NoError(t, err)
		for _, path := range paths {
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			want[strings.TrimPrefix(filepath.Base(path), name+".")] = string(content)
		}
		got, _, err := streamed(t, job, string(input))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"cat":                          {"cat"},
		"  python3  map.py -v ":        {"python3", "map.py", "-v"},
		`awk -F '\t' '{print $1 "x"}'`: {"awk", "-F", `\t`, `{print $1 "x"}`},
		`echo "" a'b c'd`:              {"echo", "", "ab cd"},
	} {
		words, err := SplitWords(line)
		require.NoError(t, err)
		require.Equal(t, want, words)
	}
	for line, want := range map[string]string{"": "the command is empty", "  ": "the command is empty", "awk 'x": "a ' is not closed"} {
		_, err := SplitWords(line)
		require.ErrorContains(t, err, want)
	}
}
