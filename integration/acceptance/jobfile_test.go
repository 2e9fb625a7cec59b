//go:build integration

package acceptance

import (
	"context"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// junitCase contains the parts of a JUnit test case that the tests check.
type junitCase struct {
	Name    string `xml:"name,attr"`
	Failure *struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	} `xml:"failure"`
	Skipped *struct {
		Message string `xml:"message,attr"`
	} `xml:"skipped"`
}

// state returns "passed", "failed" or "skipped".
func (c junitCase) state() string {
	switch {
	case c.Failure != nil:
		return "failed"
	case c.Skipped != nil:
		return "skipped"
	}
	return "passed"
}

// readJUnit returns the test cases in a JUnit file, by the name of their suite.
func readJUnit(t *testing.T, path string) map[string][]junitCase {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var read struct {
		Suites []struct {
			Name  string      `xml:"name,attr"`
			Cases []junitCase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(content, &read))
	suites := map[string][]junitCase{}
	for _, suite := range read.Suites {
		suites[suite.Name] = suite.Cases
	}
	return suites
}

func states(cases []junitCase) []string {
	all := make([]string, len(cases))
	for i, one := range cases {
		all[i] = one.state()
	}
	return all
}

// readTree returns the contents of all files below a directory, by relative path.
func readTree(t *testing.T, directory string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(directory, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(directory, path)
		files[name] = string(content)
		return err
	}))
	return files
}

const jobOfThreeSteps = `
name: three-steps
tags: [acceptance]
resources:
  executors: {instances: 2, memory: 256m, cores: 2}
environment: {GREETING: "hello, {step}"}
files: [data.txt]
steps:
  build:
    command: [./build.sh, "{os}-{version}"]
    tasks:
      matrix: {os: [debian, alpine], version: [3.9, 3.10]}
      exclude: [{os: alpine, version: 3.9}]
    collect:
      "*.bin": "out/{os}-{version}"
      log/**/*.log: logs
  flaky:
    command: |
      echo "try $TASK_ATTEMPT of $TASK_ITEM"
      test "$TASK_ATTEMPT" -ge "$TASK_ITEM"
    tasks: [0, 2]
    retries: 2
  report:
    needs: [build, flaky]
    command: cat data.txt > report.txt
    collect: {"report.txt": out}
`

func TestJobOfThreeSteps(t *testing.T) {
	t.Parallel()
	dir := workingDirectory(t, map[string]string{
		"job.yaml": jobOfThreeSteps,
		"data.txt": "the data beside it\n",
		"build.sh": "#!/bin/sh\nset -e\necho \"$GREETING: $1\"\necho \"$MATRIX_OS $MATRIX_VERSION\" > built.bin\nmkdir -p log/deep\necho $TASK_INDEX/$TASK_COUNT > log/deep/a.log\n",
	})
	done := commandLine{args: []string{"run", "job.yaml", "--summary", "reports/junit.xml"}, directory: dir}.run(t)
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)
	assert.Equal(t, "three-steps", application(t, id).Name)
	assert.Regexp(t, `tasks +6 in 3 task sets, 2 failed attempts`, done.stderr)
	assert.Regexp(t, `(?m)^  cost most  \S`, done.stderr)
	assert.Contains(t, done.stderr, "collected 7 files")

	assert.Equal(t, map[string]string{
		"debian-3.9/built.bin": "debian 3.9\n", "debian-3.10/built.bin": "debian 3.10\n", "alpine-3.10/built.bin": "alpine 3.10\n",
		"report/0/report.txt": "the data beside it\n",
	}, readTree(t, filepath.Join(dir, "out")))
	assert.Equal(t, map[string]string{"build/0/log/deep/a.log": "0/3\n", "build/1/log/deep/a.log": "1/3\n", "build/2/log/deep/a.log": "2/3\n"},
		readTree(t, filepath.Join(dir, "logs")))

	suites := readJUnit(t, filepath.Join(dir, "reports", "junit.xml"))
	assert.Equal(t, []string{"passed", "passed", "passed"}, states(suites["build"]))
	assert.Equal(t, []string{"passed", "passed"}, states(suites["flaky"]))
	assert.Equal(t, []string{"passed"}, states(suites["report"]))
	assert.Equal(t, "2 (alpine, 3.10)", suites["build"][2].Name)

	logs := yarnSubmit(t, "logs", id)
	require.Equal(t, 0, logs.code)
	assert.Regexp(t, `(?m)^==> build\.task-2-0\.out of executor [12] .*<==\nhello, build: alpine-3\.10\n`, logs.stdout)
	assert.Regexp(t, `(?m)^==> flaky\.task-1-2\.out of executor [12] .*<==\ntry 2 of 2\n`, logs.stdout)
	assertNothingLeft(t, id)
	assertNotInHDFS(t, home(t)+"/.bobbin/results/"+id)

	log := logOf(t.Context(), t, id, 1)
	require.NotNil(t, log)
	steps := readEvents(t.Context(), t, log).Steps
	require.Len(t, steps, 3)
	for i, tasks := range []int{3, 2, 1} {
		assert.Equal(t, tasks, steps[i].Tasks)
		assert.Equal(t, events.StateSucceeded, steps[i].State)
	}
	assert.Equal(t, "report", steps[2].Name)
	assert.Equal(t, []string{"build", "flaky"}, steps[2].Needs)
	assert.False(t, steps[2].Started.Before(steps[1].Ended))
}

func TestFailedJobCollectsFilesAndSummary(t *testing.T) {
	t.Parallel()
	dir := workingDirectory(t, map[string]string{"job.yaml": `
resources: {executors: {instances: 1, memory: 256m, cores: 2}}
steps:
  test:
    command: 'echo "in $TASK_ITEM"; echo "$TASK_ITEM" > report.xml; test $TASK_ITEM != bad || exit 6'
    tasks: [good, bad]
    collect: {report.xml: out}
  slow:
    command: [sleep, "600"]
    task_timeout: 1s
    allow_failure: true
  behind:
    needs: [test]
    command: [no-such-command]
`})
	done := commandLine{args: []string{"run", "job.yaml", "--summary", "junit.xml"}, directory: dir}.run(t)
	assert.Equal(t, 6, done.code)
	id := done.applicationID(t)
	assert.Equal(t, "yarn-submit: "+id+" failed: command: step test: task 1 exited with status 6", done.lastLine())
	assert.Equal(t, map[string]string{"test/0/report.xml": "good\n", "test/1/report.xml": "bad\n"}, readTree(t, filepath.Join(dir, "out")))
	suites := readJUnit(t, filepath.Join(dir, "junit.xml"))
	require.Equal(t, []string{"passed", "failed"}, states(suites["test"]))
	assert.Contains(t, suites["test"][1].Failure.Text, "in bad\n")
	assert.Equal(t, []string{"skipped"}, states(suites["slow"]))
	assert.Equal(t, "may fail, and did: ran for more than its limit of 1s", suites["slow"][0].Skipped.Message)
	assert.Equal(t, []string{"skipped"}, states(suites["behind"]))
	assertNothingLeft(t, id)
}

func TestKilledJobWritesItsSummary(t *testing.T) {
	t.Parallel()
	dir := workingDirectory(t, map[string]string{"job.yaml": `
resources: {executors: {instances: 1, memory: 256m, cores: 1}}
steps:
  quick: {command: "true"}
  slow: {needs: [quick], command: [sleep, "600"]}
  behind: {needs: [slow], command: "true"}
`})
	running := commandLine{args: []string{"run", "job.yaml", "--summary", "junit.xml"}, directory: dir}.start(t)
	id := running.applicationID(t)
	await(t, "the first step's end is recorded", func(ctx context.Context) bool {
		written, err := shared.files.List(ctx, home(t)+"/.bobbin/results/"+id+"/report")
		if err != nil {
			return false // the file does not exist yet
		}
		var all strings.Builder
		for _, one := range written {
			if strings.HasSuffix(one.Name, ".part") {
				continue // skip temporary files
			}
			if file, err := shared.files.Open(ctx, one.Path); err == nil {
				_, _ = io.Copy(&all, file)
				_ = file.Close()
			}
		}
		return strings.Contains(all.String(), `"status":"succeeded"`)
	})
	running.signal(t, syscall.SIGTERM)
	done := running.wait(t)
	assert.Equal(t, 1, done.code)
	suites := readJUnit(t, filepath.Join(dir, "junit.xml"))
	require.Equal(t, []string{"passed"}, states(suites["quick"]))
	assert.NotEqual(t, []string{"passed"}, states(suites["slow"]))
	assert.Equal(t, []string{"skipped"}, states(suites["behind"]))
	assertNothingLeft(t, id)
}

func TestCommandCollectsItsFiles(t *testing.T) {
	t.Parallel()
	dir := workingDirectory(t, map[string]string{"job.sh": "#!/bin/sh\necho task $1 > out.csv\n"})
	done := commandLine{
		args:      []string{"run", "--tasks", "4", "--num-executors", "2", "--executor-cores", "2", "--collect", "*.csv=back", "--", "./job.sh", "{index}"},
		directory: dir,
	}.run(t)
	require.Equal(t, 0, done.code)
	assert.Equal(t, map[string]string{"0/out.csv": "task 0\n", "1/out.csv": "task 1\n", "2/out.csv": "task 2\n", "3/out.csv": "task 3\n"},
		readTree(t, filepath.Join(dir, "back")))

	done = commandLine{
		args: []string{"run", "--deploy-mode", "client", "--tasks", "2", "--num-executors", "1", "--collect", "*.csv=mine", "--summary", "junit.xml",
			"--", "./job.sh", "{index}"},
		directory: dir,
	}.run(t)
	require.Equal(t, 0, done.code)
	assert.Equal(t, map[string]string{"0/out.csv": "task 0\n", "1/out.csv": "task 1\n"}, readTree(t, filepath.Join(dir, "mine")))
	assert.Equal(t, []string{"passed", "passed"}, states(readJUnit(t, filepath.Join(dir, "junit.xml"))["job.sh"]))
}

func TestTheDocumentedJob(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "jobs.md"))
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	job, _, _ := strings.Cut(rest, "```\n")
	for _, master := range []string{"yarn", "local-cluster[2,2,1024]"} {
		dir := workingDirectory(t, map[string]string{"job.yaml": job, "words.txt": "apple\nant\nbee\nbanana\ncat\nzoo\n"})
		done := commandLine{args: []string{"run", "job.yaml", "--master", master, "--summary", "junit.xml"}, directory: dir}.run(t)
		require.Equal(t, 0, done.code, master)
		assert.Equal(t, map[string]string{
			"a-3/found.txt": "apple\nant\n", "a-5/found.txt": "apple\n", "b-3/found.txt": "bee\nbanana\n", "b-5/found.txt": "banana\n",
			"c-3/found.txt": "cat\n", "z-1/found.txt": "zoo\n", "report/0/report.txt": "all counted\n",
		}, readTree(t, filepath.Join(dir, "out")), master)
		suites := readJUnit(t, filepath.Join(dir, "junit.xml"))
		assert.Equal(t, []string{"passed", "passed"}, states(suites["fetch"]), master)
		assert.Equal(t, []string{"skipped"}, states(suites["lint"]), master)
	}
}

func TestJobFollowedAgainCollectsFilesAgain(t *testing.T) {
	t.Parallel()
	job := "resources: {executors: {instances: 1, memory: 256m}}\nsteps:\n  make:\n    command: 'echo made > out.txt'\n    collect: {out.txt: out}\n"
	var ids []string
	for range 2 {
		dir := workingDirectory(t, map[string]string{"job.yaml": job})
		done := commandLine{args: []string{"run", "job.yaml", "--summary", "junit.xml", "--idempotency-key", "again-" + filepath.Base(shared.data)}, directory: dir}.run(t)
		require.Equal(t, 0, done.code)
		ids = append(ids, done.applicationID(t))
		assert.Equal(t, map[string]string{"make/0/out.txt": "made\n"}, readTree(t, filepath.Join(dir, "out")))
		assert.Equal(t, []string{"passed"}, states(readJUnit(t, filepath.Join(dir, "junit.xml"))["make"]))
	}
	assert.Equal(t, ids[0], ids[1])
	require.NoError(t, shared.files.RemoveAll(t.Context(), home(t)+"/.bobbin/results/"+ids[0]))
}
