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

	"github.com/bobbin-yarn/bobbin"
)

func invoke(t *testing.T, args ...string) (result, error) {
	t.Helper()
	t.Setenv("LOG_DIRS", t.TempDir()+",/elsewhere")
	return execute(t.Context(), invocation{args: args, index: 3, tasks: 8, attempt: 1})
}

func TestPlaceholders(t *testing.T) {
	require.Equal(t, []string{"in-3", "3/8", "try 1", "{other}"}, expand([]string{"in-{index}", "{index}/{tasks}", "try {attempt}", "{other}"}, 3, 8, 1))
}

func TestTheOutputIsKeptWhole(t *testing.T) {
	done, err := invoke(t, "/bin/sh", "-c", "echo $TASK_INDEX of $TASK_COUNT, try $TASK_ATTEMPT; echo an error >&2")
	require.NoError(t, err)
	require.Equal(t, "3 of 8, try 1\nan error\n", done.Tail)
	require.Equal(t, "task-3-1.out", filepath.Base(done.Output))
	kept, err := os.ReadFile(done.Output)
	require.NoError(t, err)
	require.Equal(t, done.Tail, string(kept))
}

func TestOutputsWithoutAContainerDoNotDisturbOneAnother(t *testing.T) {
	t.Setenv("LOG_DIRS", "")
	t.Setenv("TMPDIR", t.TempDir())
	seen := map[string]bool{}
	for range 2 {
		done, err := execute(t.Context(), invocation{args: []string{"true"}, index: 3, tasks: 8})
		require.NoError(t, err)
		seen[done.Output] = true
	}
	require.Len(t, seen, 2)
}

func TestOnlyTheEndOfALongOutputTravels(t *testing.T) {
	done, err := invoke(t, "/bin/sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x; echo end")
	require.NoError(t, err)
	require.Len(t, done.Tail, tailBytes)
	require.True(t, strings.HasSuffix(done.Tail, "xend\n"))
	info, err := os.Stat(done.Output)
	require.NoError(t, err)
	require.EqualValues(t, 100004, info.Size())
}

func TestFailuresCarryTheStatusAndTheOutput(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		want   string
		status int
	}{
		"status":    {[]string{"/bin/sh", "-c", "echo why; exit 7"}, "command: task 3 exited with status 7\nwhy", 7},
		"signal":    {[]string{"/bin/sh", "-c", "kill -9 $$"}, "command: task 3 exited with status 137 (killed)", 137},
		"not found": {[]string{"no-such-command"}, "command: task 3: exec: \"no-such-command\": executable file not found", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := invoke(t, test.args...)
			require.ErrorContains(t, err, test.want)
			status, found := ExitStatus("some prefix\n" + err.Error())
			require.Equal(t, test.status != 0, found)
			require.Equal(t, test.status, status)
			var own interface{ ExitStatus() int }
			require.ErrorAs(t, failure(err), &own)
			if test.status == 7 {
				require.Equal(t, 7, own.ExitStatus())
			} else {
				require.Equal(t, 1, own.ExitStatus())
			}
		})
	}
}

func TestShippedFilesNeedNoPath(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("shipped", []byte("#!/bin/sh\necho shipped $1\n"), 0o700))
	done, err := invoke(t, "shipped", "here")
	require.NoError(t, err)
	require.Equal(t, "shipped here\n", done.Tail)
}

func TestAKilledTaskLeavesNoProcess(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("LOG_DIRS", directory)
	pipe := filepath.Join(directory, "alive")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := execute(ctx, invocation{args: []string{"/bin/sh", "-c", "trap '' TERM; sleep 600 & echo $! > " + pipe + ".new; mv " + pipe + ".new " + pipe + "; wait"}})
		ended <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(pipe); return err == nil }, 20*time.Second, 10*time.Millisecond)
	because := errors.New("not needed any more")
	cancel(because)
	require.ErrorIs(t, <-ended, because)
	child, err := os.ReadFile(pipe)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		state, err := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	}, 20*time.Second, 10*time.Millisecond, "what the command started ends with it")
}

func TestTheApplicationFailsWithTheCommandsWords(t *testing.T) {
	t.Setenv("LOG_DIRS", t.TempDir())
	run := func(args ...string) error {
		return bobbin.RunLocal(t.Context(), "local[2]", Options{Tasks: 2, Args: args}.drive)
	}
	require.NoError(t, run("true"))
	err := run("/bin/sh", "-c", "echo broken {index}; exit 5")
	status, found := ExitStatus(err.Error())
	require.True(t, found)
	require.Equal(t, 5, status)
	require.Regexp(t, `^command: task [01] exited with status 5\nbroken [01]`, err.Error())
	require.Error(t, Options{}.drive(t.Context()))
}
