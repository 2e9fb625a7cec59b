//go:build integration

package acceptance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// clientModes maps the two client modes to the arguments of yarn-submit: "attended" has a
// managed ApplicationMaster in a container, "unmanaged" has none.
var clientModes = map[string][]string{
	"attended":  {"submit", "--deploy-mode", "client"},
	"unmanaged": {"submit", "--deploy-mode", "client", "--conf", "yarn.unmanagedAM.enabled=true"},
}

// startInClientMode submits a program whose driver function runs on this machine. It does not
// wait.
func startInClientMode(t *testing.T, mode []string, args ...string) *submitted {
	t.Helper()
	return commandLine{args: append(append([]string(nil), mode...), args...)}.start(t)
}

var submittedLine = regexp.MustCompile(`(?m)^submitted (application_\d+_\d+) to queue `)

// clientModeID waits until the application is submitted and returns its id. In client mode the
// id is in stderr, because stdout contains only the program's output.
func (s *submitted) clientModeID(t *testing.T) (id string) {
	t.Helper()
	await(t, "the application is submitted", func(context.Context) bool {
		if found := submittedLine.FindStringSubmatch(s.stderr.String()); found != nil {
			id = found[1]
		}
		return id != ""
	})
	return id
}

// startWaitingInClientMode starts an application with a staged file and two tasks that never
// end. It returns when both tasks run.
func startWaitingInClientMode(t *testing.T, mode []string) (running *submitted, id string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "small.txt")
	require.NoError(t, os.WriteFile(file, []byte("small\n"), 0o644))
	running = startInClientMode(t, mode, "--num-executors", "2", "--files", file, program("trouble"), "wait", "2")
	id = running.clientModeID(t)
	awaitTasks(t, id, 2)
	return running, id
}

func eachClientMode(t *testing.T, test func(t *testing.T, mode []string)) {
	t.Parallel()
	for name, mode := range clientModes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, mode)
		})
	}
}

func TestWordCountInClientMode(t *testing.T) {
	eachClientMode(t, func(t *testing.T, mode []string) {
		in, out := sourcesText(t), outputPath(t)
		running := startInClientMode(t, mode, "--num-executors", "2", program("wordcount"), in.path, out)
		id := running.clientModeID(t)
		done := running.wait(t)
		require.Equal(t, 0, done.code)
		assertCounts(t, in.words, out)
		assertOutputComplete(t, out)
		assert.Regexp(t, `tasks +\d+ in 2 task sets`, done.stderr)
		assert.Equal(t, yarnrest.StatusSucceeded, application(t, id).FinalStatus)
		assertNothingLeft(t, id)
	})
}

// TestProgramSubmitsItself starts a program directly, without yarn-submit.
func TestProgramSubmitsItself(t *testing.T) {
	t.Parallel()
	running := commandLine{program: "pi", args: []string{"4"}, environment: []string{
		"BOBBIN_MASTER=yarn", "BOBBIN_SUBMIT_DEPLOY_MODE=client", "BOBBIN_EXECUTOR_INSTANCES=1",
	}}.start(t)
	id := running.clientModeID(t)
	done := running.wait(t)
	assert.Equal(t, 0, done.code)
	assert.Regexp(t, `^Pi is roughly 3\.\d+\n$`, done.stdout, "and nothing else")
	assertNothingLeft(t, id)
}

func TestUnmanagedMasterTakesNoContainer(t *testing.T) {
	eachClientMode(t, func(t *testing.T, mode []string) {
		running, id := startWaitingInClientMode(t, mode)
		launchers := len(processesInRole(id, launch.RoleLauncher, "trouble"))
		if len(mode) > len(clientModes["attended"]) {
			assert.Zero(t, launchers)
		} else {
			assert.Equal(t, 1, launchers)
		}
		assert.Len(t, processesInRole(id, launch.RoleExecutor, "trouble"), 2)
		// The ResourceManager may allocate more containers than needed; the driver releases
		// them.
		await(t, "no container but those runs", func(ctx context.Context) bool {
			known, err := shared.rest.Application(ctx, id)
			return err == nil && known.RunningContainers == 2+launchers
		})
		report := decodeStdout[client.Report](t, yarnSubmit(t, "status", "--json", id))
		require.NotNil(t, report.Progress, "the driver's progress reaches the status command")
		assert.Equal(t, 2, report.Progress.Tasks.Running)
		running.signal(t, syscall.SIGTERM)
		assert.Equal(t, 1, running.wait(t).code)
		assertNothingLeft(t, id)
	})
}

func TestInterruptedDriverEndsItsApplication(t *testing.T) {
	eachClientMode(t, func(t *testing.T, mode []string) {
		running, id := startWaitingInClientMode(t, mode)
		running.signal(t, os.Interrupt)
		done := running.wait(t)
		assert.Equal(t, 1, done.code)
		_, after, found := strings.Cut(done.stderr, "interrupted (Ctrl-C): killing "+id)
		assert.True(t, found, done.stderr)
		assert.Regexp(t, "^trouble: "+id+" was killed by user "+currentUser(t)+".*: interrupted", done.lastLine())
		assert.NotContains(t, after, "WARN", "losses that follow from the kill are not reported")
		assert.Equal(t, yarnrest.StateKilled, application(t, id).State)
		assertNothingLeft(t, id)
	})
}

func TestKilledApplicationStopsItsDriver(t *testing.T) {
	eachClientMode(t, func(t *testing.T, mode []string) {
		running, id := startWaitingInClientMode(t, mode)
		require.NoError(t, shared.rest.Kill(t.Context(), id, "the cluster is needed for something else"))
		done := running.wait(t)
		assert.Equal(t, 1, done.code)
		assert.Contains(t, done.lastLine(), "the cluster is needed for something else")
		assertNothingLeft(t, id)
	})
}

func TestKilledDriverEndsItsApplication(t *testing.T) {
	t.Parallel()
	running, id := startWaitingInClientMode(t, clientModes["attended"])
	running.signal(t, syscall.SIGKILL)
	assert.Equal(t, -1, running.wait(t).code)
	known := awaitState(t, id, yarnrest.StateFinished)
	assert.Equal(t, yarnrest.StatusFailed, known.FinalStatus)
	assert.Regexp(t, `^the driver on [\d.]+:\d+ is gone: .*connection refused`, known.Diagnostics)
	assert.Len(t, attempts(t, id), 1)
	await(t, "the ApplicationMaster removes what was staged", func(ctx context.Context) bool {
		_, err := shared.files.Stat(ctx, home(t)+"/.bobbin/staging/"+id)
		return errors.Is(err, fs.ErrNotExist)
	})
	assertNothingLeft(t, id)
}

// TestExecutorsExitAfterUnmanagedDriverIsKilled checks that executors exit at once when their
// driver is killed. YARN expires the unmanaged ApplicationMaster only after ten minutes, so the
// test kills the application.
func TestExecutorsExitAfterUnmanagedDriverIsKilled(t *testing.T) {
	t.Parallel()
	running := startInClientMode(t, clientModes["unmanaged"], "--num-executors", "2", program("trouble"), "wait", "2")
	id := running.clientModeID(t)
	awaitTasks(t, id, 2)
	running.signal(t, syscall.SIGKILL)
	assert.Equal(t, -1, running.wait(t).code)
	await(t, "the executors end", func(context.Context) bool { return len(processes(id)) == 0 })
	assert.Equal(t, yarnrest.StateRunning, application(t, id).State)
	require.NoError(t, shared.rest.Kill(t.Context(), id, "its driver is gone"))
	awaitState(t, id, yarnrest.StateKilled)
	assertNothingLeft(t, id)
}

func TestSecretIsOnlyInTheCredentialsInClientMode(t *testing.T) {
	t.Parallel()
	_, id := startWaitingInClientMode(t, clientModes["attended"])
	assertSecretHidden(t, id)
}

// TestNextAttemptKeepsTheDriver kills the ApplicationMaster while the driver runs on this
// machine. The driver's tasks must run again in the executors of the next attempt, and the
// interrupted tasks must not count as failed.
func TestNextAttemptKeepsTheDriver(t *testing.T) {
	t.Parallel()
	signal := outputPath(t)
	running := startInClientMode(t, clientModes["attended"], "--num-executors", "2", "--conf", "task.maxFailures=1", program("trouble"), "until", signal)
	id := running.clientModeID(t)
	awaitTasks(t, id, 2)
	launcher := processesInRole(id, launch.RoleLauncher, "trouble")
	require.Len(t, launcher, 1)
	require.NoError(t, syscall.Kill(launcher[0].pid, syscall.SIGKILL))
	await(t, "YARN starts another attempt", func(context.Context) bool { return len(attempts(t, id)) == 2 })
	now := awaitStatus(t, id, "the tasks run in new executors", func(status page.Status) bool {
		return status.Attempt == 2 && status.Tasks.Running == 2
	})
	assert.Zero(t, now.Tasks.Failed)
	require.NoError(t, shared.put(t.Context(), signal, nil))
	done := running.wait(t)
	assert.Equal(t, 0, done.code)
	assert.Equal(t, yarnrest.StatusSucceeded, application(t, id).FinalStatus)
	assertNothingLeft(t, id)
}

// TestFailedLastAttemptStopsTheDriver kills the ApplicationMaster of the only allowed attempt.
func TestFailedLastAttemptStopsTheDriver(t *testing.T) {
	t.Parallel()
	running := startInClientMode(t, clientModes["attended"], "--num-executors", "1", "--conf", "yarn.maxAppAttempts=1", program("trouble"), "wait", "1")
	id := running.clientModeID(t)
	awaitTasks(t, id, 1)
	require.NoError(t, syscall.Kill(processesInRole(id, launch.RoleLauncher, "trouble")[0].pid, syscall.SIGKILL))
	done := running.wait(t)
	assert.Equal(t, 1, done.code)
	assert.Contains(t, done.lastLine(), id+" failed: the ApplicationMaster's container ended: killed")
	assertNothingLeft(t, id)
}

func TestProgramThatExitsEndsItsApplication(t *testing.T) {
	t.Parallel()
	running := startInClientMode(t, clientModes["attended"], "--num-executors", "1", program("trouble"), "exit", "3")
	id := running.clientModeID(t)
	assert.Equal(t, 3, running.wait(t).code)
	known := awaitState(t, id, yarnrest.StateFinished)
	assert.Equal(t, yarnrest.StatusFailed, known.FinalStatus)
	assert.Regexp(t, `^the driver on \S+ (is gone|cannot be reached): `, known.Diagnostics)
	assertNothingLeft(t, id)
}

func TestKilledDriverMayCountAsSuccess(t *testing.T) {
	t.Parallel()
	running, id := startWaitingInClientMode(t, append(clientModes["attended"], "--conf", "yarn.am.clientModeTreatDisconnectAsFailed=false"))
	running.signal(t, syscall.SIGKILL)
	running.wait(t)
	assert.Equal(t, yarnrest.StatusSucceeded, awaitState(t, id, yarnrest.StateFinished).FinalStatus)
	assertNothingLeft(t, id)
}

func TestTooManyExecutorFailuresStopTheDriver(t *testing.T) {
	eachClientMode(t, func(t *testing.T, mode []string) {
		running := startInClientMode(t, mode, "--num-executors", "1", "--conf", "executor.maxNumFailures=1",
			"--conf", "executorEnv.TROUBLE_BAD_NODE={{NM_HOST}}",
			program("trouble"), "wait", "1")
		id := running.clientModeID(t)
		done := running.wait(t)
		assert.Equal(t, 1, done.code)
		assert.Contains(t, done.lastLine(), "executor.maxNumFailures")
		assert.Equal(t, yarnrest.StatusFailed, application(t, id).FinalStatus)
		assertNothingLeft(t, id)
	})
}

func TestSecondInterruptStopsADriverThatIgnoresItsContext(t *testing.T) {
	eachClientMode(t, func(t *testing.T, mode []string) {
		running := startInClientMode(t, mode, "--num-executors", "1", program("trouble"), "deaf")
		id := running.clientModeID(t)
		awaitState(t, id, yarnrest.StateRunning)
		running.signal(t, os.Interrupt)
		await(t, "the application is killed", func(context.Context) bool {
			return strings.Contains(running.stderr.String(), id+" KILLED after ")
		})
		ended := make(chan outcome, 1)
		go func() { ended <- running.wait(t) }()
		var done outcome
		await(t, "a second signal ends the process", func(context.Context) bool { // repeat it: one within 300 ms of the first is ignored
			select {
			case done = <-ended:
				return true
			default:
				_ = running.command.Process.Signal(os.Interrupt) // fails if the process has ended
				return false
			}
		})
		assert.Equal(t, 1, done.code)
		assert.NotContains(t, done.stderr, "trouble: "+id, "the second signal ends the process before it reports the outcome")
		assertNothingLeft(t, id)
	})
}

func TestErrorOfADriverFunctionInClientMode(t *testing.T) {
	eachClientMode(t, func(t *testing.T, mode []string) {
		for _, test := range []struct{ name, text, reason string }{
			{"return-error", "the moon is in the wrong house", "the moon is in the wrong house"},
			{"panic", "out of luck", "panic: out of luck"},
		} {
			running := startInClientMode(t, mode, "--num-executors", "1", program("trouble"), test.name, test.text)
			id := running.clientModeID(t)
			done := running.wait(t)
			assert.Equal(t, 1, done.code)
			assert.Equal(t, "trouble: "+id+" failed: "+test.reason, done.lastLine())
			known := application(t, id)
			assert.Equal(t, yarnrest.StateFinished, known.State)
			assert.Equal(t, yarnrest.StatusFailed, known.FinalStatus)
			assert.Contains(t, known.Diagnostics, test.reason)
			assert.Len(t, attempts(t, id), 1)
			assertNothingLeft(t, id)
		}
	})
}

func TestADriverFunctionWithoutASessionFailsInClientMode(t *testing.T) {
	eachClientMode(t, func(t *testing.T, mode []string) {
		done := startInClientMode(t, mode, "--num-executors", "1", "--conf", "yarn.am.waitTime=1s", program("trouble"), "no-session").wait(t)
		assert.Equal(t, 1, done.code)
		assert.Contains(t, done.lastLine(), "did not create a session within 1s (yarn.am.waitTime)")
	})
}

func TestCommandInClientMode(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script, stdout string
		code           int
	}{
		"success": {"echo here is $TASK_INDEX", "here is 0\n", 0},
		"failure": {"exit 7", "", 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running := commandLine{args: []string{"run", "--deploy-mode", "client", "--tasks", "1", "--retries", "0", "--num-executors", "1",
				"--", "/bin/sh", "-c", test.script}}.start(t)
			id := running.clientModeID(t)
			done := running.wait(t)
			assert.Equal(t, test.code, done.code)
			assert.Equal(t, test.stdout, done.stdout)
			assertNothingLeft(t, id)
		})
	}
}

func TestReportInClientMode(t *testing.T) {
	t.Parallel()
	done := startInClientMode(t, clientModes["attended"], "--json", "--num-executors", "1", program("trouble"), "succeed", "3").wait(t)
	require.Equal(t, 0, done.code)
	report := decodeJSON[client.Report](t, done.stdout)
	assert.Equal(t, "SUCCEEDED", report.FinalStatus)
	assert.EqualValues(t, 3, report.Summary["tasks"])
}
