package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

// stopGrace is the time between SIGTERM and SIGKILL. It is shorter than the 10 seconds that
// Docker waits by default before it kills the container.
const stopGrace = 8 * time.Second

// children manages the child processes of this process. This process is the init process of the
// Docker container. Therefore it also reaps orphaned processes, such as the YARN containers of
// a killed NodeManager.
type children struct {
	names  map[int]string // names of running children by process id
	signal chan os.Signal // receives SIGCHLD when a child has ended
}

func newChildren() *children {
	c := &children{names: map[int]string{}, signal: make(chan os.Signal, 1)}
	signal.Notify(c.signal, syscall.SIGCHLD)
	return c
}

// start starts a child in a new session, so that the terminal sends Ctrl-C only to this process
// and not to the child.
func (c *children) start(name string, command, environment []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	pid, err := syscall.ForkExec(path, command, &syscall.ProcAttr{
		Env: environment, Files: []uintptr{os.Stdin.Fd(), os.Stdout.Fd(), os.Stderr.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	c.names[pid] = name
	return nil
}

// next waits until a child ends and returns its name and exit status, or "" if ctx ends first.
func (c *children) next(ctx context.Context) (name string, status syscall.WaitStatus) {
	for {
		if name, status, found := c.reap(); found {
			return name, status
		}
		select {
		case <-c.signal:
		case <-ctx.Done():
			return "", 0
		}
	}
}

// reap reaps ended processes until it reaps a child in names. It returns the child's name and
// exit status. found is false if no child in names has ended. reap does not block.
func (c *children) reap() (name string, status syscall.WaitStatus, found bool) {
	for {
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return "", 0, false
		}
		if name, found := c.names[pid]; found {
			delete(c.names, pid)
			return name, status, true
		}
	}
}

// end sends SIGTERM to all children, waits up to stopGrace for them to end, and then sends
// SIGKILL to the children that still run.
func (c *children) end() {
	c.tell(syscall.SIGTERM)
	grace, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	for len(c.names) > 0 {
		if name, _ := c.next(grace); name == "" {
			c.tell(syscall.SIGKILL)
			return // when this process exits, Docker kills the remaining processes
		}
	}
}

func (c *children) tell(sig syscall.Signal) {
	for pid := range c.names {
		_ = syscall.Kill(pid, sig) // fails if the process has ended
	}
}
