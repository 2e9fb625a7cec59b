package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// endWait is how long a process has to end once it was told to.
const endWait = 20 * time.Second

// child is a process of this program in a role of its own. Both sides tell
// each other values as JSON, one a line, over the child's stdin and stdout.
type child struct {
	role    string
	command *exec.Cmd
	stdin   io.WriteCloser
	says    *json.Decoder
}

func startChild(ctx context.Context, role string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, role)
	command.Stderr = os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = endWait
	// A signal of the terminal is for this process, which then ends its children.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return &child{role: role, command: command, stdin: stdin, says: json.NewDecoder(stdout)}, nil
}

func (c *child) tell(value any) error {
	if err := json.NewEncoder(c.stdin).Encode(value); err != nil {
		return fmt.Errorf("the %s' process takes no word: %w", c.role, err)
	}
	return nil
}

func (c *child) hear(value any) error {
	if err := c.says.Decode(value); err != nil {
		return fmt.Errorf("the %s' process ended too soon: %w", c.role, err)
	}
	return nil
}

// end has the process end, by the end of its stdin, and waits for it.
func (c *child) end() error {
	_ = c.stdin.Close()
	kill := time.AfterFunc(endWait, func() { _ = c.command.Process.Kill() })
	defer kill.Stop()
	if err := c.command.Wait(); err != nil {
		return fmt.Errorf("the %s' process: %w", c.role, err)
	}
	return nil
}

// parent is the other side of child: the process that started this one.
type parent struct {
	says *json.Decoder
	ears *json.Encoder
}

// toParent makes the link to the process that started this one, and a context
// that ends when that process does.
func toParent(ctx context.Context) (context.Context, *parent, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	reader, writer := io.Pipe()
	go func() {
		_, err := io.Copy(writer, bufio.NewReader(os.Stdin))
		_ = writer.CloseWithError(errors.Join(err, io.EOF))
		cancel(errors.New("the process that started this one has gone"))
	}()
	return ctx, &parent{says: json.NewDecoder(reader), ears: json.NewEncoder(os.Stdout)}, func() { cancel(nil) }
}

func (p *parent) tell(value any) error { return p.ears.Encode(value) }

func (p *parent) hear(value any) error { return p.says.Decode(value) }
