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

// child is a process of the cluster, as the process sees it that started it.
type child struct {
	name     string
	command  *exec.Cmd
	lifeline *os.File // the writing end of its stdin
	leaving  atomic.Bool
	working  atomic.Bool    // it was ready once
	said     chan readiness // holds its word once it has given it
	ended    chan struct{}
	failure  error // once ended is closed
}

// startChild starts a process and tells it what it needs.
func startChild(program string, role launch.Role, given handed, name string, logger *slog.Logger) (*child, error) {
	words, err := json.Marshal(given)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer func() { _ = read.Close() }()
	command := exec.Command(program)
	command.Args[0] = "bobbin-" + string(role) // as lists of processes show it
	command.Env = append(ownEnvironment(os.Environ()), launch.EnvRole+"="+string(role))
	command.Stdin, command.Stderr = read, os.Stderr
	// In a session of its own a signal from the terminal does not reach it: the
	// driver ends the cluster, after its executors.
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
	c := &child{name: name, command: command, lifeline: write, said: make(chan readiness, 1), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		lines := bufio.NewReader(output)
		if line, err := lines.ReadBytes('\n'); err == nil {
			var r readiness
			if json.Unmarshal(line, &r) == nil {
				c.said <- r
			}
		}
		_, _ = io.Copy(io.Discard, lines)
		c.failure = command.Wait()
		if c.working.Load() && !c.leaving.Load() {
			logger.Error("a process of the local cluster has ended", "process", name, "pid", command.Process.Pid, "status", command.ProcessState)
		}
	}()
	// Longer than a pipe holds, it would wait for the child; a child that ended does
	// not read, which is an error.
	if _, err := write.Write(append(words, '\n')); err != nil {
		c.leave()
		<-c.ended
		return nil, fmt.Errorf("start %s: %w", name, errors.Join(err, c.failure))
	}
	return c, nil
}

// ownEnvironment is the process's without bobbin's settings, which are told.
func ownEnvironment(environ []string) []string {
	var own []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, config.EnvironmentPrefix) {
			own = append(own, entry)
		}
	}
	return own
}

// ready waits until the process is at work.
func (c *child) ready(ctx context.Context) (readiness, error) {
	select {
	case r := <-c.said:
		if r.Error != "" {
			return r, fmt.Errorf("%s: %s", c.name, r.Error)
		}
		c.working.Store(true)
		return r, nil
	case <-c.ended:
		select {
		case r := <-c.said:
			return r, fmt.Errorf("%s: %s", c.name, r.Error)
		default:
			return readiness{}, fmt.Errorf("%s ended at once (%v): does the program call bobbin.Main first in its main function?", c.name, c.command.ProcessState)
		}
	case <-ctx.Done():
		return readiness{}, fmt.Errorf("%s is not at work: %w", c.name, context.Cause(ctx))
	}
}

// leave has the process end in order.
func (c *child) leave() {
	if !c.leaving.Swap(true) {
		_ = c.lifeline.Close()
	}
}

// wait returns when the process has ended, and kills it when ctx ends before.
func (c *child) wait(ctx context.Context) error {
	select {
	case <-c.ended:
	case <-ctx.Done():
		_ = c.command.Process.Kill()
		<-c.ended
		return nil
	}
	if c.failure != nil {
		return fmt.Errorf("%s: %w", c.name, c.failure)
	}
	return nil
}
