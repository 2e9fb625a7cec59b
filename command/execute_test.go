package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func invoke(t *testing.T, args ...string) Outcome {
	t.Helper()
	t.Setenv("LOG_DIRS", t.TempDir()+",/elsewhere")
	outcome, err := execute(t.Context(), invocation{args: args, index: 3, attempt: 1})
	require.NoError(t, err)
	return outcome
}

func TestOutputFileHasAllOutput(t *testing.T) {
	done := invoke(t, "/bin/sh", "-c", "echo said; echo an error >&2")
	require.Equal(t, StatusSucceeded, done.Status)
	require.Equal(t, "said\nan error\n", done.Tail)
	require.Equal(t, "task-3-1.out", filepath.Base(done.Output))
	kept, err := os.ReadFile(done.Output)
	require.NoError(t, err)
	require.Equal(t, done.Tail, string(kept))
}

func TestOutputFileName(t *testing.T) {
	t.Setenv("LOG_DIRS", t.TempDir())
	done, err := execute(t.Context(), invocation{step: "build", args: []string{"true"}, index: 2})
	require.NoError(t, err)
	require.Equal(t, "build.task-2-0.out", filepath.Base(done.Output))
}

func TestOutputFilesOutsideContainersAreUnique(t *testing.T) {
	t.Setenv("LOG_DIRS", "")
	t.Setenv("TMPDIR", t.TempDir())
	seen := map[string]bool{}
	for range 2 {
		done, err := execute(t.Context(), invocation{args: []string{"true"}, index: 3})
		require.NoError(t, err)
		seen[done.Output] = true
	}
	require.Len(t, seen, 2)
}

func TestOutcomeHasOnlyTheTailOfLongOutput(t *testing.T) {
	done := invoke(t, "/bin/sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x; echo end")
	require.Len(t, done.Tail, tailBytes)
	require.True(t, strings.HasSuffix(done.Tail, "xend\n"))
	info, err := os.Stat(done.Output)
	require.NoError(t, err)
	require.EqualValues(t, 100004, info.Size())
}

func TestFailureHasStatusAndOutput(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		want   string
		status int
		exits  int // exit status of a program that runs the plan on a local master
	}{
		"status":    {[]string{"/bin/sh", "-c", "echo why; exit 7"}, "command: task 3 exited with status 7\nwhy", 7, 7},
		"signal":    {[]string{"/bin/sh", "-c", "kill -9 $$"}, "command: task 3 exited with status 137 (killed)", 137, 1},
		"not found": {[]string{"no-such-command"}, "command: task 3: exec: \"no-such-command\": executable file not found in $PATH", 0, 1},
		"not here":  {[]string{"./no-such-command"}, "command: task 3: exec: \"./no-such-command\": no such file or directory", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			done := invoke(t, test.args...)
			require.Equal(t, StatusFailed, done.Status)
			err := done.Error("")
			require.EqualError(t, err, test.want)
			status, found := ExitStatus("some prefix\n" + err.Error())
			require.Equal(t, test.status != 0, found)
			require.Equal(t, test.status, status)
			var own interface{ ExitStatus() int }
			require.ErrorAs(t, failure(err), &own)
			require.Equal(t, test.exits, own.ExitStatus())
		})
	}
	status, found := ExitStatus("command: step build: task 12 exited with status 3: said")
	require.True(t, found)
	require.Equal(t, 3, status)
}

func TestShippedFilesNeedNoPath(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("shipped", []byte("#!/bin/sh\necho shipped $1\n"), 0o700))
	require.Equal(t, "shipped here\n", invoke(t, "shipped", "here").Tail)
}

func TestACommandRunsInItsDirectory(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(directory, "below"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "below", "script"), []byte("#!/bin/sh\npwd\n"), 0o700))
	t.Setenv("LOG_DIRS", t.TempDir())
	for _, one := range []invocation{
		{args: []string{"./script"}, base: directory, below: "below"},
		{args: []string{"script"}, base: "/", below: filepath.Join(directory, "below")},
		{args: []string{"below/../below/script"}, base: directory},
	} {
		done, err := execute(t.Context(), one)
		require.NoError(t, err)
		require.Equal(t, one.directory()+"\n", done.Tail)
	}
	done, err := execute(t.Context(), invocation{args: []string{"true"}, base: directory, below: "missing"})
	require.NoError(t, err)
	require.Contains(t, done.Message, "missing: no such file or directory")
}

// stubborn returns a command that starts a child process and writes the child's process id to the
// file pid. The command and its child ignore SIGTERM.
func stubborn(pid string) []string {
	return []string{"/bin/sh", "-c", "trap '' TERM; sleep 600 & echo $! > " + pid + ".new; mv " + pid + ".new " + pid + "; wait"}
}

// waitTimeout limits how long a test waits for an event that takes no time on an idle machine.
const waitTimeout = 2 * time.Minute

func requireGone(t *testing.T, pid string) {
	t.Helper()
	child, err := os.ReadFile(pid)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	}, waitTimeout, 10*time.Millisecond, "what the command started ends with it")
}

func TestAKilledTaskLeavesNoProcess(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("LOG_DIRS", directory)
	pid := filepath.Join(directory, "alive")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := execute(ctx, invocation{args: stubborn(pid)})
		ended <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(pid); return err == nil }, waitTimeout, 10*time.Millisecond)
	because := errors.New("not needed any more")
	asked := time.Now()
	cancel(because)
	require.ErrorIs(t, <-ended, because)
	require.GreaterOrEqual(t, time.Since(asked), killGrace, "it was asked before it was killed")
	requireGone(t, pid)
}

func TestATimeLimitEndsACommand(t *testing.T) {
	t.Setenv("LOG_DIRS", t.TempDir())
	done, err := execute(t.Context(), invocation{args: []string{"/bin/sh", "-c", "echo begun; sleep 600"}, timeout: 200 * time.Millisecond})
	require.NoError(t, err)
	require.Equal(t, StatusTimedOut, done.Status)
	require.Regexp(t, `^command: step slow: task 0 ran for more than its limit of 200ms(\nbegun)?$`, done.Error("slow").Error(),
		"on a busy machine it has said nothing yet")
}
