//go:build integration

package acceptance

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testTimeout is the timeout of every wait in a test.
const testTimeout = 10 * time.Minute

// commandLine is a command line of yarn-submit or another program, and its environment.
type commandLine struct {
	program     string // name of a built program; "" means yarn-submit
	args        []string
	environment []string // overrides the test's environment; NAME without a value unsets the variable
	directory   string   // working directory; "" means the test's
}

// outcome is the exit code and the output of a process.
type outcome struct {
	code           int
	stdout, stderr string
}

func (o outcome) lastLine() string {
	lines := strings.Split(strings.TrimRight(o.stderr, "\n"), "\n")
	return lines[len(lines)-1]
}

// yarnSubmit runs yarn-submit and waits until it ends.
func yarnSubmit(t *testing.T, args ...string) outcome {
	t.Helper()
	return commandLine{args: args}.run(t)
}

func (c commandLine) run(t *testing.T) outcome {
	t.Helper()
	return c.start(t).wait(t)
}

// submitted is a running yarn-submit that follows an application.
type submitted struct {
	command *exec.Cmd
	stdout  recorder
	stderr  *outputRecorder
	id      chan string // receives the first line of stdout
	read    sync.WaitGroup
	once    sync.Once
	ended   outcome
}

// start starts the program and does not wait. If the program still runs when the test ends, it
// is interrupted, on which yarn-submit kills its application.
func (c commandLine) start(t *testing.T) *submitted {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	s := &submitted{
		command: exec.CommandContext(ctx, program(cmp.Or(c.program, "yarn-submit")), c.args...),
		stderr:  &outputRecorder{t: t}, id: make(chan string, 1),
	}
	s.command.Cancel = func() error { return s.command.Process.Signal(os.Interrupt) }
	s.command.WaitDelay = testTimeout
	s.command.Dir = c.directory
	s.command.Env = c.environ()
	s.command.Stderr = s.stderr
	stdout, err := s.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.command.Start())
	s.read.Go(func() {
		lines := bufio.NewReader(stdout)
		first, _ := lines.ReadString('\n') // applicationID fails if the line is incomplete
		s.id <- strings.TrimSpace(first)
		_, _ = s.stdout.Write([]byte(first))
		_, _ = io.Copy(&s.stdout, lines)
	})
	t.Cleanup(func() {
		cancel()
		s.wait(t)
	})
	return s
}

func (c commandLine) environ() []string {
	variables := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME"), "HADOOP_CONF_DIR": shared.hadoop.ConfDir(),
	}
	for _, entry := range c.environment {
		name, value, set := strings.Cut(entry, "=")
		if set {
			variables[name] = value
		} else {
			delete(variables, name)
		}
	}
	environ := make([]string, 0, len(variables))
	for name, value := range variables {
		environ = append(environ, name+"="+value)
	}
	return environ
}

// applicationID waits until yarn-submit prints the application's id, and returns the id.
func (s *submitted) applicationID(t *testing.T) string {
	t.Helper()
	select {
	case id := <-s.id:
		s.id <- id
		require.Regexp(t, `^application_\d+_\d+$`, id, "the first line of stdout; stderr: %s", s.stderr)
		return id
	case <-time.After(testTimeout):
		require.FailNow(t, "no application id on stdout", "%s", s.stderr)
		return ""
	}
}

func (s *submitted) signal(t *testing.T, signal os.Signal) {
	t.Helper()
	require.NoError(t, s.command.Process.Signal(signal))
}

// wait waits until the process ends and returns its outcome. The code is -1 if a signal ended
// the process.
func (s *submitted) wait(t *testing.T) outcome {
	t.Helper()
	s.once.Do(func() {
		s.read.Wait()
		err := s.command.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			require.NoError(t, err)
		}
		s.ended = outcome{code: s.command.ProcessState.ExitCode(), stdout: s.stdout.String(), stderr: s.stderr.String()}
	})
	return s.ended
}

// recorder stores the output of a process. It can be read while the process writes.
type recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *recorder) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *recorder) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// outputRecorder is a recorder that copies the output to the test's log.
type outputRecorder struct {
	recorder
	t *testing.T
}

func (w *outputRecorder) Write(p []byte) (int, error) {
	_, _ = w.t.Output().Write(p)
	return w.recorder.Write(p)
}

// await polls until the condition holds. It fails the test if this takes longer than
// testTimeout. what describes the condition in the failure message.
func await(t *testing.T, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	const pause = 100 * time.Millisecond
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for !condition(ctx) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			require.FailNow(t, "timed out", "%s: %v", what, context.Cause(ctx))
		}
	}
}
