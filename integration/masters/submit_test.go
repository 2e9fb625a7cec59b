//go:build integration

package masters

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// testTimeout is the timeout of every wait in a test.
	testTimeout = 10 * time.Minute
	// pause is the interval between two checks of a condition.
	pause = 100 * time.Millisecond
)

// outcome is the exit code and the output of a yarn-submit process.
type outcome struct {
	code           int
	stdout, stderr string
}

func (o outcome) output() string { return o.stdout + o.stderr }

// submitted is a yarn-submit process.
type submitted struct {
	command        *exec.Cmd
	stdout, stderr *outputRecorder
	ended          chan struct{} // closed when the process has ended
	failure        error         // the error of Wait, set before ended is closed
}

// yarnSubmit starts yarn-submit. Its environment contains only PATH, HOME and the given
// variables. If the process still runs when the test ends, it is interrupted.
func yarnSubmit(t *testing.T, environment []string, args ...string) *submitted {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	s := &submitted{
		command: exec.CommandContext(ctx, program("yarn-submit"), args...), stdout: &outputRecorder{w: t.Output()}, stderr: &outputRecorder{w: t.Output()},
		ended: make(chan struct{}),
	}
	s.command.Cancel = func() error { return s.command.Process.Signal(os.Interrupt) }
	s.command.WaitDelay = time.Minute
	s.command.Dir = t.TempDir()
	s.command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + shared.home}, environment...)
	s.command.Stdout, s.command.Stderr = s.stdout, s.stderr
	require.NoError(t, s.command.Start())
	go func() {
		s.failure = s.command.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() {
		cancel()
		s.wait(t)
	})
	return s
}

// wait waits until yarn-submit ends and returns its outcome. The code is -1 if a signal ended
// the process.
func (s *submitted) wait(t *testing.T) outcome {
	t.Helper()
	<-s.ended
	var exit *exec.ExitError
	if s.failure != nil && !errors.As(s.failure, &exit) {
		require.ErrorIs(t, s.failure, context.DeadlineExceeded)
	}
	return outcome{code: s.command.ProcessState.ExitCode(), stdout: s.stdout.String(), stderr: s.stderr.String()}
}

func (s *submitted) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// submit submits a program to a master. Executors are small and have the test's mark in their
// environment. The log level is info for all masters, because drivers in yarn-submit's process
// would log less by default.
func (m master) submit(t *testing.T, settings []string, name string, arguments ...string) *submitted {
	t.Helper()
	return yarnSubmit(t, m.environment, slices.Concat([]string{"submit"}, m.args,
		[]string{"--executor-memory", "512m", "--driver-memory", "512m", "--conf", "log.level=info",
			"--conf", "executorEnv." + markVariable + "=" + testMark(t)},
		settings, []string{program(name)}, arguments)...)
}

// run calls submit and waits until yarn-submit ends.
func (m master) run(t *testing.T, settings []string, name string, arguments ...string) outcome {
	t.Helper()
	return m.submit(t, settings, name, arguments...).wait(t)
}

// driverSaid returns the driver's log of a running application.
func (m master) driverSaid(t *testing.T, s *submitted) string {
	t.Helper()
	if m.driverInPlace {
		return s.stderr.String()
	}
	id, _, _ := strings.Cut(s.stdout.String(), "\n")
	return yarnSubmit(t, m.environment, "logs", "--master", m.args[slices.Index(m.args, "--master")+1], id).wait(t).stdout
}

// outputRecorder stores the output of a process and copies it to the test's log.
type outputRecorder struct {
	w    io.Writer
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *outputRecorder) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.w.Write(p)
	return w.text.Write(p)
}

func (w *outputRecorder) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// await polls until the condition holds. It fails the test if this takes longer than
// testTimeout. what describes the condition in the failure message.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	for !condition() {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			require.FailNow(t, "timed out", "%s: %v", what, context.Cause(ctx))
		}
	}
}

// anyMaster, separateExecutors and driverInPlace are filters for eachMaster.
func anyMaster(master) bool           { return true }
func separateExecutors(m master) bool { return m.separateExecutors }
func driverInPlace(m master) bool     { return m.driverInPlace }

// eachMaster runs a test on every selected master for which isFor returns true.
func eachMaster(t *testing.T, isFor func(master) bool, test func(t *testing.T, m master)) {
	t.Helper()
	for _, m := range shared.masters {
		if !isFor(m) {
			t.Logf("not for %s", m.name)
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			test(t, m)
			await(t, "the executors end", func() bool { return len(executors(t)) == 0 })
		})
	}
}

// testMark returns a string that identifies the test and this run of the tests.
func testMark(t *testing.T) string {
	return strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + "-" + filepath.Base(filepath.Dir(shared.programs))
}
