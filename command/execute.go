package command

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/process"
)

const (
	// tailBytes is how many bytes from the end of a command's output are sent to the driver.
	tailBytes = 8 << 10
	// killGrace is the time between SIGTERM and SIGKILL when a command is stopped.
	killGrace = 3 * time.Second
)

// invocation is one execution of a command, by a task attempt.
type invocation struct {
	step           string
	index, attempt int
	args           []string
	environment    []string
	base, below    string        // below is the working directory; if below is a relative path, it is relative to base
	timeout        time.Duration // 0 means no limit
}

// execute runs a command until it ends, and returns its outcome. The command's stdout and stderr go
// to one file. A failed command is an outcome, not an error; the end of ctx is an error. When ctx
// ends or the timeout has passed, execute sends SIGTERM to the command's process group, and SIGKILL
// after killGrace.
func execute(ctx context.Context, i invocation) (Outcome, error) {
	output, err := i.createOutput()
	if err != nil {
		return Outcome{}, fmt.Errorf("output of task %d: %w", i.index, err)
	}
	defer output.Close()
	outcome := Outcome{Index: i.index, Output: output.Name(), Started: time.Now()}

	bounded := ctx
	if i.timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeoutCause(ctx, i.timeout, &timeLimitError{i.timeout})
		defer cancel()
	}
	err = i.start(bounded, output)
	outcome.Duration = time.Since(outcome.Started)
	if cause := stopped(ctx); err != nil && cause != nil {
		return Outcome{}, cause
	}
	if cause := stopped(bounded); err != nil && cause != nil {
		err = cause
	}
	outcome.set(err)
	outcome.Tail, err = tailOf(output)
	return outcome, err
}

func (i invocation) directory() string {
	switch {
	case filepath.IsAbs(i.below):
		return i.below
	case i.base == "" && i.below == "":
		return "."
	}
	return filepath.Join(i.base, i.below)
}

func (i invocation) start(ctx context.Context, output *os.File) error {
	if _, err := os.Stat(i.directory()); err != nil {
		return fmt.Errorf("the working directory: %w", err)
	}
	program, err := process.Locate(i.directory(), i.args[0])
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, program, i.args[1:]...)
	command.Args[0] = i.args[0]
	command.Dir = i.directory()
	command.Stdout, command.Stderr = output, output
	command.Env = i.environment
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = killGrace
	err = command.Run()
	if command.Process != nil {
		// Kill the processes that the command left running in its process group.
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
	return err
}

// createOutput creates the output file. Its name contains step, task and attempt. In a container,
// the file is in the container's log directory; otherwise it is a temporary file.
func (i invocation) createOutput() (*os.File, error) {
	name := fmt.Sprintf("%stask-%d-%d", stepPrefix(i.step), i.index, i.attempt)
	if directory, _, _ := strings.Cut(os.Getenv("LOG_DIRS"), ","); directory != "" {
		return os.Create(filepath.Join(directory, name+".out"))
	}
	return os.CreateTemp("", name+"-*.out")
}

func tailOf(file *os.File) (string, error) {
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	start := max(0, info.Size()-tailBytes)
	tail := make([]byte, info.Size()-start)
	n, err := file.ReadAt(tail, start)
	if n == len(tail) {
		err = nil
	}
	return string(tail[:n]), err
}

// stepPrefix returns the prefix of the names of a step's output files and directories.
func stepPrefix(step string) string {
	if step == "" {
		return ""
	}
	return step + "."
}
