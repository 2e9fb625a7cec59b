package main

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documentedJob returns the job file that docs/jobs.md shows.
func documentedJob(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "jobs.md"))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	require.True(t, ok)
	job, _, ok := strings.Cut(rest, "```\n")
	require.True(t, ok)
	return job
}

// directoryWith returns a new directory with the given files.
func directoryWith(t *testing.T, files map[string]string) string {
	t.Helper()
	directory := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(directory, name), []byte(content), 0o700))
	}
	return directory
}

// asProcess runs a yarn-submit command line in a new process, with directory as working directory.
func asProcess(t *testing.T, directory string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	command := exec.Command(os.Args[0], args...)
	command.Dir = directory
	command.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+t.TempDir(), "HOME=/home/someone")
	var out, errs strings.Builder
	command.Stdout, command.Stderr = &out, &errs
	_ = command.Run() // the caller checks the exit status
	return command.ProcessState.ExitCode(), out.String(), errs.String()
}

// suites contains the parts of a JUnit file that the tests check.
type suites struct {
	Suites []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Skipped  int    `xml:"skipped,attr"`
	} `xml:"testsuite"`
}

func summary(t *testing.T, path string) map[string][3]int {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var read suites
	require.NoError(t, xml.Unmarshal(content, &read))
	counts := map[string][3]int{}
	for _, suite := range read.Suites {
		counts[suite.Name] = [3]int{suite.Tests, suite.Failures, suite.Skipped}
	}
	return counts
}

const words = "apple\nant\nbee\nbanana\ncat\nzoo\n"

func TestTheDocumentedJobRuns(t *testing.T) {
	directory := directoryWith(t, map[string]string{"job.yaml": documentedJob(t), "words.txt": words})
	code, stdout, stderr := asProcess(t, directory, "run", "job.yaml", "--master", "local[4]", "--summary", "junit.xml")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "[fetch 1] got part-two\n")
	for name, want := range map[string]string{
		"out/a-3/found.txt": "apple\nant\n", "out/b-5/found.txt": "banana\n", "out/z-1/found.txt": "zoo\n", "out/report/0/report.txt": "all counted\n",
	} {
		got, err := os.ReadFile(filepath.Join(directory, name))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	require.NoDirExists(t, filepath.Join(directory, "out/c-5"))
	require.Equal(t, map[string][3]int{"count": {6, 0, 0}, "fetch": {2, 0, 0}, "lint": {1, 0, 1}, "report": {1, 0, 0}},
		summary(t, filepath.Join(directory, "junit.xml")))
}

func TestADryRunShowsTheSubmission(t *testing.T) {
	directory := directoryWith(t, map[string]string{"job.yaml": documentedJob(t), "words.txt": words})
	code, stdout, stderr := asProcess(t, directory, "run", "--queue", "fast", "job.yaml", "--dry-run", "--retries", "5", "--conf", "executor.cores=4")
	require.Equal(t, 0, code, stderr)
	for _, line := range []string{
		"job word-report, which is not submitted\n", "  executors   2 of 4 cores, 512m each\n", "executor.cores=4  (the command line)\n",
		"yarn.queue=fast  (the command line)\n", "executor.memory=512m  (job.yaml:5:37)\n", "step count, 6 tasks\n", "  task 5      letter=z, length=1\n",
		"  needs       count, fetch, lint\n", "  limits      5 retries, 10m0s a try, may fail\n", "HOME=(from the environment)\n",
	} {
		require.Contains(t, stdout, line)
	}
	require.NotContains(t, stdout, "/home/someone")

	code, stdout, stderr = asProcess(t, directory, "run", "job.yaml", "--dry-run", "--json")
	require.Equal(t, 0, code, stderr)
	require.NotContains(t, stdout, "/home/someone")
	var dry dryRun
	require.NoError(t, json.Unmarshal([]byte(stdout), &dry))
	require.Equal(t, "word-report", dry.Name)
	require.Len(t, dry.Plan.Steps, 4)
	require.Equal(t, drySetting{"nightly", "job.yaml:3:8"}, dry.Settings["yarn.tags"])

	code, stdout, _ = asProcess(t, directory, "run", "--tasks", "3", "--dry-run", "--", "echo", "{index}")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "command, 3 tasks\n  command     echo {index}\n  limits      3 retries\n")
}

func TestCollectOnThisMachine(t *testing.T) {
	directory := directoryWith(t, map[string]string{"make.sh": "#!/bin/sh\ncat data > out-$1\n", "data": "data"})
	code, _, stderr := asProcess(t, directory, "run", "--master", "local[2]", "--tasks", "2", "--files", "data",
		"--collect", "out-*=back", "--summary", "deep/er/junit.xml", "--", "./make.sh", "{index}")
	require.Equal(t, 0, code, stderr)
	require.FileExists(t, filepath.Join(directory, "back/0/out-0"))
	require.FileExists(t, filepath.Join(directory, "back/1/out-1"))
	require.NoFileExists(t, filepath.Join(directory, "out-0"))
	require.Equal(t, map[string][3]int{"make.sh": {2, 0, 0}}, summary(t, filepath.Join(directory, "deep/er/junit.xml")))

	code, _, _ = asProcess(t, directory, "run", "--master", "local[2]", "--tasks", "1", "--", "./make.sh", "here")
	require.Equal(t, 0, code)
	require.FileExists(t, filepath.Join(directory, "out-here"), "without files to bring back a command runs where it is called")
}

func TestTheExitStatusOfAJobIsThatOfItsCommand(t *testing.T) {
	directory := directoryWith(t, map[string]string{"job.yaml": "steps:\n  a: {command: exit 7}\n  b: {command: [x], needs: [a]}\n"})
	for _, more := range [][]string{nil, {"--summary", "junit.xml"}} {
		code, _, stderr := asProcess(t, directory, append([]string{"run", "--master", "local", "job.yaml"}, more...)...)
		require.Equal(t, 7, code)
		require.Contains(t, stderr, "command: step a: task 0 exited with status 7")
	}
	require.Equal(t, map[string][3]int{"a": {1, 1, 0}, "b": {1, 0, 1}}, summary(t, filepath.Join(directory, "junit.xml")))
}

func TestASummaryIsWrittenIfNothingCouldBeSubmitted(t *testing.T) {
	directory := directoryWith(t, map[string]string{"job.yaml": "steps:\n  a: {command: [x]}\n", "core-site.xml": `<configuration>
<property><name>fs.defaultFS</name><value>hdfs://127.0.0.1:1</value></property></configuration>`})
	t.Setenv("HADOOP_CONF_DIR", directory)
	code, _, stderr := asProcess(t, directory, "run", "job.yaml", "--files", "no-such-file", "--summary", "junit.xml", "--collect", "*=out")
	require.Equal(t, 2, code, stderr)
	require.Equal(t, map[string][3]int{"a": {1, 1, 0}}, summary(t, filepath.Join(directory, "junit.xml")))
}

func TestWrongUsageOfRun(t *testing.T) {
	directory := directoryWith(t, map[string]string{"good.yaml": "steps: {a: {command: [x], cpus: 3}}\n", "bad.yml": "stepz: {}\n",
		"unknown.yaml": "conf: {executor.memroy: 1g}\nsteps: {a: {command: [x]}}\n", "wrong.yaml": "conf: {executor.memory: lots}\nsteps: {a: {command: [x]}}\n"})
	t.Chdir(directory)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"bad.yml"}, `bad.yml:1:1: unknown key "stepz", did you mean steps?`},
		{[]string{"unknown.yaml"}, `unknown.yaml:1:8: unknown key "executor.memroy", did you mean executor.memory?`},
		{[]string{"wrong.yaml"}, `executor.memory="lots" (from wrong.yaml:1:8): want a size`},
		{[]string{"none.yaml"}, "the job file none.yaml does not exist"},
		{[]string{"good.yaml", "extra"}, `a job file takes no arguments, got "extra"`},
		{[]string{"good.yaml", "--tasks", "2"}, "--tasks is for a command"},
		{[]string{"good.yaml", "--dry-runn"}, "unknown flag --dry-runn, did you mean --dry-run?"},
		{[]string{"good.yaml", "--dry-run"}, "step a: each task takes 3 cores, and executors have 1 (from default): raise executor.cores"},
		{[]string{"good.yaml", "--collect", "x"}, `--collect "x": want PATTERN=DIRECTORY`},
		{[]string{"good.yaml", "--collect", "*=o/{step}", "--detach", "--executor-cores", "3", "--master", "bobbin://127.0.0.1:1"}, "leave out --detach"},
		{[]string{"--tasks", "2", "--collect", "*=o/{step}", "x"}, "--collect: files of task 0 and of task 1 would come into "},
		{[]string{"job.yam"}, "a job file's name ends in .yaml or .yml"},
		{[]string{"--tasks", "2"}, "no command to run"},
		{[]string{"--tasks", "2", "--retries", "-1", "x"}, "--retries: want 0 or more"},
	} {
		code, _, stderr := run(append([]string{"run"}, test.args...)...)
		require.Equal(t, 2, code, stderr)
		require.Contains(t, stderr, test.want)
	}
}
