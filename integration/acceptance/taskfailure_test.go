//go:build integration

package acceptance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runTrouble submits the program trouble with one executor.
func runTrouble(t *testing.T, settings []string, arguments ...string) outcome {
	t.Helper()
	args := append([]string{"submit", "--num-executors", "1"}, settings...)
	return yarnSubmit(t, append(append(args, program("trouble")), arguments...)...)
}

func TestTaskFailingFourTimesFailsTheApplication(t *testing.T) {
	t.Parallel()
	done := runTrouble(t, nil, "task-error", "no such thing")
	require.Equal(t, 1, done.code)
	id := done.applicationID(t)
	assert.Regexp(t, `^yarn-submit: `+id+` failed: task 0 of "fail" failed 4 times, last on executor \d+ \(`+nodePattern+`\): no such thing \(try 3\)$`, done.lastLine())
	assert.Contains(t, application(t, id).Diagnostics, "no such thing (try 3)")
	assert.Len(t, attempts(t, id), 1, "another attempt would not help")
	assertNothingLeft(t, id)
}

func TestTaskPanicIsReportedWithStack(t *testing.T) {
	t.Parallel()
	done := runTrouble(t, []string{"--conf", "task.maxFailures=2"}, "task-panic", "bad luck")
	require.Equal(t, 1, done.code)
	id := done.applicationID(t)
	assert.Regexp(t, `task 0 of "panic" failed 2 times, last on executor \d+ \(`+nodePattern+`\): panic: bad luck$`, done.lastLine())
	for _, text := range []string{application(t, id).Diagnostics, done.stderr} {
		assert.Contains(t, text, "panic: bad luck")
		assert.Contains(t, text, "programs/trouble/task.go:")
	}
	assertNothingLeft(t, id)
}

func TestFailedTaskIsRetried(t *testing.T) {
	t.Parallel()
	done := runTrouble(t, nil, "flaky", "3")
	require.Equal(t, 0, done.code)
	assert.Regexp(t, `tasks +1 in 1 task set, 3 failed attempts`, done.stderr)
	assertNothingLeft(t, done.applicationID(t))
}

func TestTaskIsRetriedUpToMaxFailures(t *testing.T) {
	t.Parallel()
	done := runTrouble(t, []string{"--conf", "task.maxFailures=1"}, "flaky", "1")
	require.Equal(t, 1, done.code)
	assert.Contains(t, done.lastLine(), "failed once")
	assert.Contains(t, done.lastLine(), ": not yet")
}

func TestFailureMessagesMayContainAnyBytes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"return-error", "panic", "task-error", "task-panic"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			done := runTrouble(t, []string{"--conf", "task.maxFailures=1"}, mode, `"read \xff\xfe\x00 here"`)
			assert.Equal(t, 1, done.code)
			assert.Regexp(t, "read \uFFFD+\\S* here", done.lastLine())
			assert.Len(t, attempts(t, done.applicationID(t)), 1)
		})
	}
}
