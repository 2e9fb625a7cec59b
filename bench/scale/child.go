package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopTimeout is the time that a child process has to end before it is killed.
const stopTimeout = 20 * time.Second

// child is a process of this program in another role. The parent and the child exchange JSON
// values through the child's stdin and stdout.
type child struct {
	role    string
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *json.Decoder
}

// startChild starts this program in a role. The child is stopped when ctx ends, and killed when
// this process ends.
func startChild(ctx context.Context, role string, environment ...string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, role)
	command.Env = append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{role: role, command: command, stdin: stdin, stdout: json.NewDecoder(stdout)}, command.Start()
}

func (c *child) send(value any) error {
	if err := json.NewEncoder(c.stdin).Encode(value); err != nil {
		return fmt.Errorf("write to the process of the %s: %w", c.role, err)
	}
	return nil
}

func (c *child) receive(value any) error {
	if err := c.stdout.Decode(value); err != nil {
		return fmt.Errorf("read from the process of the %s: %w", c.role, err)
	}
	return nil
}

// stop closes the child's stdin, on which the child ends, and waits for its end.
func (c *child) stop() error {
	_ = c.stdin.Close()
	kill := time.AfterFunc(stopTimeout, func() { _ = c.command.Process.Kill() })
	defer kill.Stop()
	if err := c.command.Wait(); err != nil {
		return fmt.Errorf("the process of the %s: %w", c.role, err)
	}
	return nil
}
