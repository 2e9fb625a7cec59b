package localcluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// child is the process of the cluster's master or of one of the workers.
type child struct {
	name     string
	command  *exec.Cmd
	stdin    *os.File // closing it stops the process
	stopping atomic.Bool
	ready    atomic.Bool
	reported chan childReadiness // receives the readiness message that the process writes to its stdout
	exited   chan struct{}
	failure  error // set before exited is closed
}

// startChild starts a process and writes its instructions (given) to its stdin.
func startChild(program string, role launch.Role, given childInstructions, name string, logger *slog.Logger) (*child, error) {
	line, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = read.Close() }()
	command := exec.Command(program)
	command.Args[0] = "bobbin-" + string(role)
	command.Env = append(ownEnvironment(os.Environ()), launch.EnvRole+"="+string(role))
	command.Stdin, command.Stderr = read, os.Stderr
	// In its own session, the process does not receive the terminal's signals, such as SIGINT
	// at Ctrl-C. The driver must be able to stop its executors before the cluster stops.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	output, err := command.StdoutPipe()
	if err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	if err := command.Start(); err != nil {
		_ = write.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	c := &child{name: name, command: command, stdin: write, reported: make(chan childReadiness, 1), exited: make(chan struct{})}
	go func() {
		defer close(c.exited)
		lines := bufio.NewReader(output)
		if first, err := lines.ReadBytes('\n'); err == nil {
			var r childReadiness
			if json.Unmarshal(first, &r) == nil {
				c.reported <- r
			}
		}
		_, _ = io.Copy(io.Discard, lines)
		c.failure = command.Wait()
		if c.ready.Load() && !c.stopping.Load() {
			logger.Error("a process of the local cluster has ended", "process", name, "pid", command.Process.Pid, "status", command.ProcessState)
		}
	}()
	// If the line exceeds the pipe's buffer, Write blocks until the child has read the line or
	// has exited.
	if _, err := write.Write(append(line, '\n')); err != nil {
		c.requestStop()
		<-c.exited
		return nil, fmt.Errorf("start %s: %w", name, errors.Join(err, c.failure))
	}
	return c, nil
}

// ownEnvironment returns environ without the variables that are bobbin's settings. The process
// receives its settings in the instructions.
func ownEnvironment(environ []string) []string {
	var own []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, config.EnvironmentPrefix) {
			own = append(own, entry)
		}
	}
	return own
}

// waitReady waits until the process is ready or has failed.
func (c *child) waitReady(ctx context.Context) (childReadiness, error) {
	select {
	case r := <-c.reported:
		if r.Error != "" {
			return r, fmt.Errorf("%s: %s", c.name, r.Error)
		}
		c.ready.Store(true)
		return r, nil
	case <-c.exited:
		select {
		case r := <-c.reported:
			return r, fmt.Errorf("%s: %s", c.name, r.Error)
		default:
			return childReadiness{}, fmt.Errorf("%s ended at once (%v): does the program call bobbin.Main first in its main function?", c.name, c.command.ProcessState)
		}
	case <-ctx.Done():
		return childReadiness{}, fmt.Errorf("%s is not ready: %w", c.name, context.Cause(ctx))
	}
}

// requestStop makes the process stop, by closing its stdin. It does not wait.
func (c *child) requestStop() {
	if !c.stopping.Swap(true) {
		_ = c.stdin.Close()
	}
}

// wait waits until the process has ended. If ctx ends first, wait kills the process.
func (c *child) wait(ctx context.Context) error {
	select {
	case <-c.exited:
	case <-ctx.Done():
		_ = c.command.Process.Kill()
		<-c.exited
		return nil
	}
	if c.failure != nil {
		return fmt.Errorf("%s: %w", c.name, c.failure)
	}
	return nil
}
