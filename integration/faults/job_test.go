//go:build integration

package faults

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/containers"
	"github.com/bobbin-yarn/bobbin/integration/text"
)

// testTimeout is the timeout of every wait in a test.
const testTimeout = 10 * time.Minute

// job is an application with the program census, and the yarn-submit that follows it.
type job struct {
	command *exec.Cmd
	stderr  *outputRecorder
	stdout  bytes.Buffer
	first   chan string // receives the first line of stdout
	read    sync.WaitGroup
	once    sync.Once
	id      string
	output  string
	signal  string // path of the file for which the second half of the counting tasks waits
}

// countingTasks is the number of tasks that count words. The second half waits for the release.
const countingTasks = 24

func fileName(t *testing.T) string { return strings.ReplaceAll(t.Name(), "/", "-") }

// startHeld submits census with three executors. Half of its counting tasks wait until release,
// so that the test can inject faults while the job runs. The cluster is healed when the test
// ends.
func startHeld(t *testing.T, flags ...string) *job {
	t.Helper()
	t.Cleanup(func() { heal(t) })
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	output := "hdfs:///faults/" + fileName(t)
	signal := output + "-signal"
	// A worker has room for two executors, or for one executor and the ApplicationMaster. So at
	// least two executors are not on the ApplicationMaster's worker.
	arguments := append([]string{"submit", "--driver-memory", "1g", "--num-executors", "3", "--executor-cores", "1", "--executor-memory", "1800m"}, flags...)
	arguments = append(arguments, shared.program("census"), "100ms", shared.text, output, signal)
	j := &job{
		command: exec.CommandContext(ctx, shared.program("yarn-submit"), arguments...),
		stderr:  &outputRecorder{t: t}, first: make(chan string, 1), output: output, signal: signal,
	}
	j.command.Env = environ()
	j.command.Cancel = func() error { return j.command.Process.Signal(os.Interrupt) }
	j.command.WaitDelay = testTimeout
	j.command.Stderr = j.stderr
	stdout, err := j.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, j.command.Start())
	j.read.Go(func() {
		lines := bufio.NewReader(stdout)
		first, _ := lines.ReadString('\n') // the test fails below if the line is incomplete
		j.first <- strings.TrimSpace(first)
		_, _ = io.Copy(&j.stdout, lines)
	})
	t.Cleanup(func() {
		cancel()
		j.wait(t)
	})
	j.id = <-j.first
	require.Regexp(t, `^application_\d+_\d+$`, j.id, "the first line of stdout; stderr: %s", j.stderr)
	return j
}

func environ() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "HADOOP_CONF_DIR=" + shared.cluster.ConfDir()}
}

// wait waits until yarn-submit ends and returns its exit code.
func (j *job) wait(t *testing.T) int {
	t.Helper()
	j.once.Do(func() {
		j.read.Wait()
		err := j.command.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			assert.NoError(t, err)
		}
	})
	return j.command.ProcessState.ExitCode()
}

// assertCorrect waits until the job ends, and checks that it succeeded with the expected
// counts.
func (j *job) assertCorrect(t *testing.T) {
	t.Helper()
	require.Equal(t, 0, j.wait(t), "exit code")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := text.ReadCounts(ctx, shared.files, j.output)
	require.NoError(t, err)
	assert.Empty(t, text.Difference(shared.want, got))
}

// logs returns the output of `yarn-submit logs` for the job.
func (j *job) logs(ctx context.Context) (stdout, stderr string, err error) {
	var said, complaints bytes.Buffer
	logs := exec.CommandContext(ctx, shared.program("yarn-submit"), "logs", j.id)
	logs.Env = environ()
	logs.Stdout, logs.Stderr = &said, &complaints
	err = logs.Run()
	return said.String(), complaints.String(), err
}

// awaitLogs reads the job's logs until they satisfy the condition. This can take some time,
// because NodeManagers move the logs to HDFS after the job ends. A killed NodeManager does not
// move its logs.
func (j *job) awaitLogs(t *testing.T, what string, condition func(logs string) bool) {
	t.Helper()
	var stdout, stderr string
	found := false
	defer func() {
		if !found {
			t.Logf("yarn-submit logs said last:\n%s%s", stdout, stderr)
		}
	}()
	await(t, "the logs have "+what, func(ctx context.Context) bool {
		var err error
		stdout, stderr, err = j.logs(ctx) // fails as long as no logs exist
		found = err == nil && condition(stdout)
		return found
	})
}

// attempts returns the number of the application's attempts.
func (j *job) attempts(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	attempts, err := shared.rest.Attempts(ctx, j.id)
	require.NoError(t, err)
	return len(attempts)
}

// awaitStatus waits until the status that the ApplicationMaster reports satisfies the
// condition, and returns this status.
func (j *job) awaitStatus(t *testing.T, what string, condition func(page.Status) bool) page.Status {
	t.Helper()
	var last page.Status
	await(t, j.id+": "+what, func(ctx context.Context) bool {
		known, err := shared.rest.Application(ctx, j.id)
		if err != nil {
			return false // the ResourceManager may be down
		}
		require.False(t, known.State.Ended(), "it ended before %s: %s", what, known.Diagnostics)
		content, err := shared.rest.Proxy(ctx, j.id, "/"+page.StatusPath)
		if err != nil {
			return false // the ApplicationMaster has not started, or has stopped
		}
		last = page.Status{}
		return json.Unmarshal(content, &last) == nil && condition(last)
	})
	return last
}

// awaitHalfDone waits until three executors run, at least three tasks have succeeded, and at
// least two tasks run, which then wait for the release.
func (j *job) awaitHalfDone(t *testing.T) page.Status {
	t.Helper()
	return j.awaitStatus(t, "it is in its middle", func(status page.Status) bool {
		return status.Executors.Running == 3 && status.Tasks.Done >= 3 && status.Tasks.Running >= 2
	})
}

// release lets the waiting tasks of a held job continue.
func (j *job) release(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, shared.put(ctx, j.signal, nil))
}

// workerWithMaster returns the worker on which the ApplicationMaster runs.
func (j *job) workerWithMaster(t *testing.T) *containers.Host {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	known, err := shared.rest.Application(ctx, j.id)
	require.NoError(t, err)
	name, _, _ := strings.Cut(known.AMHostHTTPAddress, ":")
	host := shared.cluster.Host(name)
	require.NotNil(t, host, "the ApplicationMaster's host %q", name)
	return host
}

// workerWithoutMaster returns a worker on which tasks run and the ApplicationMaster does not.
func (j *job) workerWithoutMaster(t *testing.T, status page.Status) *containers.Host {
	t.Helper()
	master := j.workerWithMaster(t)
	for _, executor := range status.Details {
		if executor.Host != master.Name && executor.Running > 0 {
			return shared.cluster.Host(executor.Host)
		}
	}
	require.FailNow(t, "all executors are where the ApplicationMaster is", "%+v", status.Details)
	return nil
}

// restart restarts the named workers with the given properties, which are valid until heal.
func restart(t *testing.T, properties map[string]string, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	workers, restarting := errgroup.WithContext(ctx)
	for _, name := range names {
		workers.Go(func() error {
			host := shared.cluster.Host(name)
			if err := host.Stop(restarting); err != nil {
				return err
			}
			if err := host.Override(restarting, properties); err != nil {
				return err
			}
			return host.Start(restarting)
		})
	}
	require.NoError(t, workers.Wait())
	require.NoError(t, shared.cluster.WaitReady(ctx))
}

// heal makes the cluster usable again after faults: it starts and connects every host, resets
// clocks and properties, and waits until the cluster is ready.
func heal(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	if t.Failed() {
		keepLogs(ctx, t)
	}
	assert.NoError(t, shared.cluster.Heal(ctx))
}

// keepLogs writes the logs of the hosts' daemons to files in a new directory and logs its path.
func keepLogs(ctx context.Context, t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", fileName(t)+"-logs-")
	assert.NoError(t, err)
	for name, text := range shared.cluster.Logs(ctx) {
		assert.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	t.Logf("the logs of the cluster's hosts are in %s", dir)
}

// await polls until the condition holds. It fails the test if this takes longer than
// testTimeout. what describes the condition in the failure message.
func await(t *testing.T, what string, condition func(ctx context.Context) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for !condition(ctx) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			require.FailNow(t, "timed out", "%s: %v", what, context.Cause(ctx))
		}
	}
}

// outputRecorder stores the output of a process and copies it to the test's log.
type outputRecorder struct {
	t    *testing.T
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *outputRecorder) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.t.Output().Write(p)
	return w.text.Write(p)
}

func (w *outputRecorder) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
