//go:build integration

package acceptance

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// assertFailed checks that an application failed after the given number of attempts and that
// yarn-submit's last line contains the reason. It returns the ResourceManager's report.
func assertFailed(t *testing.T, done outcome, reason string, tries int) *yarnrest.Application {
	t.Helper()
	assert.Equal(t, 1, done.code)
	id := done.applicationID(t)
	assert.Equal(t, "yarn-submit: "+id+" failed: "+reason, done.lastLine())
	assert.Contains(t, done.stderr, id+" FAILED after ")
	assert.Len(t, attempts(t, id), tries)
	known := application(t, id)
	assert.Equal(t, yarnrest.StatusFailed, known.FinalStatus)
	assertNothingLeft(t, id)
	return known
}

func TestDriverFunctionErrorBecomesDiagnostics(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--num-executors", "1", program("trouble"), "return-error", "the moon is in the wrong house")
	known := assertFailed(t, done, "the moon is in the wrong house", 1)
	assert.Equal(t, yarnrest.StateFinished, known.State)
	assert.Equal(t, "the moon is in the wrong house", known.Diagnostics)
}

func TestDriverFunctionPanicIsReportedWithStack(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--num-executors", "1", program("trouble"), "panic", "out of luck")
	known := assertFailed(t, done, "panic: out of luck", 1)
	for _, text := range []string{known.Diagnostics, done.stderr} {
		assert.Contains(t, text, "panicInDriver")
		assert.Contains(t, text, "programs/trouble/driver.go:")
	}
}

func TestApplicationFailsIfDriverCreatesNoSession(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--num-executors", "1", "--conf", "yarn.am.waitTime=1s", program("trouble"), "no-session")
	assertFailed(t, done, "the driver function did not create a session within 1s (yarn.am.waitTime)", 1)
}

// TestApplicationEndsDespiteHangingDriverFunction runs a driver function that ignores the
// cancellation of its context when too many executors have failed.
func TestApplicationEndsDespiteHangingDriverFunction(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--num-executors", "1", "--conf", "executor.maxNumFailures=1", "--conf", "yarn.maxAppAttempts=2",
		"--conf", "executorEnv.TROUBLE_BAD_NODE={{NM_HOST}}", program("trouble"), "deaf")
	assert.Equal(t, 1, done.code)
	id := done.applicationID(t)
	assert.Len(t, attempts(t, id), 1)
	known := application(t, id)
	assert.Equal(t, yarnrest.StateFinished, known.State)
	assert.Equal(t, yarnrest.StatusFailed, known.FinalStatus)
	assert.Contains(t, known.Diagnostics, "executor.maxNumFailures")
	assert.Contains(t, known.Diagnostics, "the driver function did not return within 10s")
	assertNothingLeft(t, id)
}

func TestExitedDriverIsRestartedUpToMaxAttempts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ status, tries int }{{3, 2}, {0, 1}} {
		t.Run(strconv.Itoa(test.status), func(t *testing.T) {
			t.Parallel()
			done := yarnSubmit(t, "submit", "--num-executors", "1", "--conf", "yarn.maxAppAttempts="+strconv.Itoa(test.tries),
				program("trouble"), "exit", strconv.Itoa(test.status))
			assert.Equal(t, 1, done.code)
			id := done.applicationID(t)
			assert.Contains(t, done.lastLine(), id+" failed: ")
			assert.Contains(t, done.lastLine(), "exit status "+strconv.Itoa(test.status))
			known := application(t, id)
			assert.Equal(t, yarnrest.StateFailed, known.State)
			assert.Len(t, attempts(t, id), test.tries)
			assertNothingLeft(t, id)
		})
	}
}

func TestDriverThatCrashesShowsItsPanic(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--num-executors", "1", "--conf", "yarn.maxAppAttempts=2", program("trouble"), "crash")
	known := assertFailed(t, done, "the ApplicationMaster crashed: panic: runtime error: invalid memory address or nil pointer dereference", 2)
	assert.Contains(t, known.Diagnostics, "nil pointer dereference")
	assert.Contains(t, done.stderr, "programs/trouble/driver.go:", "the stack is in the details")
	require.Equal(t, yarnrest.StateFailed, known.State)
}
