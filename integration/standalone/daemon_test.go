//go:build integration

package standalone

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// endTimeout limits the time that a process may need to stop.
const endTimeout = 40 * time.Second

// daemon is a master or worker process that can be restarted.
type daemon struct {
	name           string
	arguments      []string
	environ        []string
	directory      string // directory of the daemon's logs; each start has a separate file
	starts         int
	decommissioned bool // whether the daemon was decommissioned since its last start

	command *exec.Cmd
	log     string
	ended   chan struct{} // closed when the process has ended
}

func (d *daemon) start(t *testing.T) {
	t.Helper()
	require.False(t, d.alive(), "%s runs already", d.name)
	d.starts++
	d.decommissioned = false
	d.log = filepath.Join(d.directory, d.name+"-"+string(rune('a'+(d.starts-1)%26))+".log")
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	d.command = exec.Command(program("yarn-submit"), d.arguments...)
	d.command.Env = d.environ
	d.command.Stdout, d.command.Stderr = log, log
	d.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL} // the process is also killed if the test is killed
	require.NoError(t, d.command.Start())
	command, ended := d.command, make(chan struct{})
	d.ended = ended
	go func() {
		_ = command.Wait() // ProcessState contains the outcome
		close(ended)
	}()
}

func (d *daemon) alive() bool {
	if d.ended == nil {
		return false
	}
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

func (d *daemon) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if !d.alive() {
		return
	}
	if err := d.command.Process.Signal(signal); !errors.Is(err, os.ErrProcessDone) { // the process may have ended
		require.NoError(t, err)
	}
}

// kill kills the process with SIGKILL and waits until it has ended.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	d.signal(t, syscall.SIGKILL)
	d.awaitEnd(t)
}

// decommission decommissions a worker, which stops when its last executor has ended. It does
// nothing if the worker is still starting.
func (d *daemon) decommission(t *testing.T) {
	t.Helper()
	if d.alive() && strings.Contains(d.said(), "worker started") {
		d.signal(t, syscall.SIGPWR)
		d.decommissioned = true
	}
}

// stop sends SIGTERM and waits until the process ends. The exit code must be 0, unless the log
// is empty: then the signal may have arrived before the process could handle signals.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if !d.alive() {
		return
	}
	d.signal(t, syscall.SIGTERM)
	d.awaitEnd(t)
	if said := d.said(); said != "" {
		require.Zero(t, d.command.ProcessState.ExitCode(), "%s said:\n%s", d.name, said)
	}
}

func (d *daemon) awaitEnd(t *testing.T) {
	t.Helper()
	select {
	case <-d.ended:
	case <-time.After(endTimeout):
		t.Fatalf("%s did not end in %v; it said:\n%s", d.name, endTimeout, d.said())
	}
}

// said returns the daemon's log since its last start.
func (d *daemon) said() string {
	text, _ := os.ReadFile(d.log)
	return string(text)
}

// application is a process that runs a program, or yarn-submit, with the site's master.
type application struct {
	name           string
	command        *exec.Cmd
	stdout, stderr output
	ended          chan struct{}
}

func (a *application) alive() bool {
	select {
	case <-a.ended:
		return false
	default:
		return true
	}
}

func (a *application) wait(t *testing.T, timeout time.Duration) int {
	t.Helper()
	select {
	case <-a.ended:
	case <-time.After(timeout):
		t.Fatalf("%s did not end in %v; it said:\n%s", a.name, timeout, a.stderr.text())
	}
	return a.command.ProcessState.ExitCode()
}

// lastLine returns the last line of stderr, which contains the reason of a failure.
func (a *application) lastLine() string {
	lines := strings.Split(strings.TrimSpace(a.stderr.text()), "\n")
	return lines[len(lines)-1]
}

// output is a buffer that can be read while a process writes to it.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}
