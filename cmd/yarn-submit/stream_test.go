package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/streaming"
)

func TestStreamOnThisMachine(t *testing.T) {
	directory := directoryWith(t, map[string]string{
		"words.sh": "#!/bin/sh\ntr ' ' '\\n' | grep -vFf stop.txt | sed \"s/$/$SEPARATOR$one/\"\necho reporter:counter:words,mappers,1 >&2\n",
		"stop.txt": "or\n", "one.txt": "to be or\n", "two.txt": "not to be\n",
	})
	args := []string{"stream", "--master", "local[2]", "--files", "stop.txt", "--map", "./words.sh", "--reduce", `sh -c "cut -f 1 | uniq -c | tr -d ' '"`,
		"--env", "SEPARATOR=\t", "-D", "one=1", "--input", "one.txt", "two.txt", "out"}
	code, stdout, stderr := asProcess(t, directory, args...)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "counter words/mappers 2\n", stdout)
	content, err := os.ReadFile(filepath.Join(directory, "out/part-00000"))
	require.NoError(t, err)
	require.Equal(t, "2be\n1not\n2to\n", string(content))

	code, _, stderr = asProcess(t, directory, args...)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "out")
	code, _, stderr = asProcess(t, directory, "stream", "--master", "local", "--map", `sh -c "echo broken >&2; exit 9"`, "one.txt", "other")
	require.Equal(t, 9, code)
	require.Contains(t, stderr, "command: map task 0 exited with status 9\n")
	require.Contains(t, stderr, "\nbroken\n")
	require.NoDirExists(t, filepath.Join(directory, "other"))
}

func TestADryRunShowsTheStreamingJob(t *testing.T) {
	directory := directoryWith(t, map[string]string{"map.py": ""})
	args := []string{"stream", "--map", "./map.py -v", "--reduce", "uniq -c", "--reducers", "3", "-D", "mapreduce.job.name=counts", "--sort", "-k2,2nr", "--separator", ",",
		"-D", "mapreduce.map.memory.mb=512", "--compress", "gzip", "/in", "/out", "--dry-run"}
	code, stdout, stderr := asProcess(t, directory, args...)
	require.Equal(t, 0, code, stderr)
	for _, line := range []string{
		"job counts, which is not submitted\n", "  file        ./map.py\n", "stream, a streaming job\n  map         ./map.py -v\n  reduce      uniq -c\n  input       /in\n  output      /out\n",
		"  property    mapreduce.job.reduces=3\n",
	} {
		require.Contains(t, stdout, line)
	}
	require.Contains(t, stderr, "the property mapreduce.map.memory.mb has no effect")

	code, stdout, stderr = asProcess(t, directory, append(args, "--json")...)
	require.Equal(t, 0, code, stderr)
	var dry dryRun
	require.NoError(t, json.Unmarshal([]byte(stdout), &dry))
	require.Equal(t, &streaming.Job{
		Name: "counts", Inputs: []string{"/in"}, Output: "/out", Map: []string{"./map.py", "-v"}, Reduce: []string{"uniq", "-c"}, Compression: "gzip",
		Properties: map[string]string{streaming.PropertyName: "counts", streaming.PropertyReducers: "3", streaming.PropertySort: "-k2,2nr", "mapreduce.map.memory.mb": "512",
			streaming.PropertySeparator: ",", streaming.PropertyKeySeparator: ","},
	}, dry.Plan.Steps[0].Stream)
}

func TestAStreamingStepOfAJobFile(t *testing.T) {
	directory := directoryWith(t, map[string]string{"in.txt": "b a\na\n"})
	job := "environment: {LC_ALL: C}\nsteps:\n  count:\n    stream:\n      input: [" + directory + "/in.txt]\n      output: " + directory + `/out
      map: |
        tr ' ' '\n'
        echo reporter:counter:lines,seen,2 >&2
      reduce: [uniq, -c]
  after: {needs: [count], command: [cat, ` + directory + "/out/part-00000]}\n"
	require.NoError(t, os.WriteFile(filepath.Join(directory, "job.yaml"), []byte(job), 0o600))
	code, stdout, stderr := asProcess(t, directory, "run", "--master", "local[2]", "job.yaml", "--summary", "junit.xml")
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "[count 0] counter lines/seen 2\n[after 0]       2 a\t\n[after 0]       1 b\t\n", stdout)
	require.Equal(t, map[string][3]int{"count": {1, 0, 0}, "after": {1, 0, 0}}, summary(t, filepath.Join(directory, "junit.xml")))

	code, _, stderr = asProcess(t, directory, "run", "--master", "local[2]", "job.yaml", "--summary", "junit.xml")
	require.Equal(t, 1, code, "the output exists")
	require.Contains(t, stderr, "step skipped")
	require.Equal(t, map[string][3]int{"count": {1, 1, 0}, "after": {1, 0, 1}}, summary(t, filepath.Join(directory, "junit.xml")))
}

func TestWrongUsageOfStream(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"in", "out"}, "no map command: cat passes lines on as they are; see yarn-submit stream --help"},
		{[]string{"--map", "cat"}, "no input"},
		{[]string{"--map", "cat", "out"}, "no input"},
		{[]string{"--map", "cat", "--input", "in"}, "no output"},
		{[]string{"--map", "awk 'x", "in", "out"}, "--map: awk 'x: a ' is not closed"},
		{[]string{"--map", "cat", "--reduce", "", "in", "out"}, "--reduce: the command is empty"},
		{[]string{"--map", "cat", "-D", "x", "in", "out"}, "-D x: want NAME=VALUE"},
		{[]string{"--map", "cat", "--env", "BOBBIN_X=1", "in", "out"}, "choose another name"},
		{[]string{"--map", "cat", "--reducers", "-1", "in", "out"}, `mapreduce.job.reduces is "-1": want a whole number from 0`},
		{[]string{"--map", "cat", "--reducer", "x", "in", "out"}, "unknown flag --reducer, did you mean --reduce?"},
	} {
		code, _, stderr := run(append([]string{"stream"}, test.args...)...)
		require.Equal(t, 2, code, stderr)
		require.Contains(t, stderr, test.want)
	}
}

// TestTheDocumentedScriptsRun runs the first command line of docs/streaming.md with the scripts in
// that document.
func TestTheDocumentedScriptsRun(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "streaming.md"))
	require.NoError(t, err)
	scripts := regexp.MustCompile("(?s)```sh\n(#!/bin/sh\n# (\\S+)\n.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, scripts, 2)
	directory := directoryWith(t, map[string]string{
		scripts[0][2]: scripts[0][1], scripts[1][2]: scripts[1][1], "text.txt": "To be, or not to be:\nthat is the question\n",
	})
	args := commandLines(string(page))[0]
	out := filepath.Join(directory, "out")
	args[len(args)-1] = out
	code, stdout, stderr := asProcess(t, directory, args...)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, "counter words/seen 10\n", stdout)
	content, err := os.ReadFile(filepath.Join(out, "part-00000"))
	require.NoError(t, err)
	require.Equal(t, "To\t1\nbe\t2\nis\t1\nnot\t1\nor\t1\nquestion\t1\nthat\t1\nthe\t1\nto\t1\n", string(content))
}
