package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/procfs"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

const (
	// startWait is how long the master has to say its address, and endWait how long
	// to end once it was told to.
	startWait = 20 * time.Second
	endWait   = 20 * time.Second
	// clockTick is the unit of CPU times in /proc: hundredths of a second, whatever
	// Linux's own clock is.
	clockTick = 10 * time.Millisecond
)

// master is the process that is measured.
type master struct {
	command     *exec.Cmd
	url, said   said // what it says on stdout and on stderr
	ended       chan error
	address     string // host:port
	credentials *protocol.Credentials
}

// startMaster starts a master with its state in the directory, and returns once
// it listens.
func startMaster(ctx context.Context, program, directory string) (*master, error) {
	const secret = "measured, and no secret at all"
	credentials, err := protocol.FromSecret([]byte(secret))
	if err != nil {
		return nil, err
	}
	m := &master{credentials: credentials, ended: make(chan error, 1)}
	m.url.first, m.said.first = make(chan struct{}), make(chan struct{})
	m.command = exec.CommandContext(ctx, program, "master", "--host", "127.0.0.1", "--port", "0", "--web-port", "-1",
		"--work-dir", filepath.Join(directory, "work"))
	for key, value := range map[*config.Setting]string{
		setting(config.AuthenticateSecret.Name()): secret,
		setting(config.RecoveryMode.Name()):       config.RecoveryFilesystem,
		setting(config.RecoveryDirectory.Name()):  filepath.Join(directory, "state"),
		setting(config.WorkerTimeout.Name()):      workerTimeout.String(),
		setting(config.LogLevel.Name()):           "warn",
	} {
		m.command.Env = append(m.command.Env, key.Variable()+"="+value)
	}
	m.command.Stdout, m.command.Stderr = &m.url, &m.said
	m.command.Cancel = func() error { return m.command.Process.Signal(syscall.SIGTERM) }
	m.command.WaitDelay = endWait
	// A signal of the terminal is for this process, which then ends the master.
	m.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.command.Start(); err != nil {
		return nil, fmt.Errorf("%w: run make build first", err)
	}
	go func() { m.ended <- m.command.Wait() }()
	select {
	case <-m.url.first:
	case err := <-m.ended:
		m.ended <- err
		return nil, fmt.Errorf("the master ended: %w\n%s", err, m.said.text())
	case <-time.After(startWait):
		return nil, errors.Join(fmt.Errorf("the master did not say its address in %v: %s", startWait, m.said.text()), m.end())
	}
	addresses, err := protocol.ParseURL(strings.TrimSpace(m.url.text()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the master said %q: %w", m.url.text(), err), m.end())
	}
	m.address = addresses[0]
	return m, nil
}

// setting finds a setting by its key.
func setting(key string) *config.Setting {
	for _, s := range config.Settings() {
		if s.Key == key {
			return s
		}
	}
	panic("there is no setting " + key)
}

// end has the master end, and waits for it.
func (m *master) end() error {
	_ = m.command.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-m.ended:
		if err != nil {
			return fmt.Errorf("the master: %w\n%s", err, m.said.text())
		}
		return nil
	case <-time.After(endWait):
		_ = m.command.Process.Kill()
		return fmt.Errorf("the master did not end in %v, and was killed: %w", endWait, <-m.ended)
	}
}

// cpu is what the master has taken so far, user and system.
func (m *master) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(filepath.Join(procfs.Directory(m.command.Process.Pid), "stat"))
	if err != nil {
		return 0, fmt.Errorf("the master's CPU time: %w", err)
	}
	// The second field is the program's name in parentheses, which may hold spaces.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const user, system = 14 - 3, 15 - 3 // of proc(5), which counts from 1
	if len(fields) <= system {
		return 0, fmt.Errorf("the master's CPU time: %q has too few fields", stat)
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the master's CPU time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// mostResident is the most memory that the master has had in RAM, in units of
// 1,000,000 bytes.
func (m *master) mostResident() (float64, error) {
	status, err := os.ReadFile(filepath.Join(procfs.Directory(m.command.Process.Pid), "status"))
	if err != nil {
		return 0, fmt.Errorf("the master's memory: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			kibibytes, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kibibytes * 1024 / 1e6, err
		}
	}
	return 0, errors.New("the master's memory: its status tells no VmHWM")
}

// said keeps what a process says.
type said struct {
	first chan struct{} // closed when it has said a line

	mu     sync.Mutex
	buffer bytes.Buffer
	line   bool
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.line && bytes.IndexByte(p, '\n') >= 0 {
		s.line = true
		close(s.first)
	}
	return s.buffer.Write(p)
}

func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffer.String()
}
