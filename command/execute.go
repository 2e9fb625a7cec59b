package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// tailBytes is how much of the end of a command's output travels to the driver.
	tailBytes = 8 << 10
	// killGrace is how long a command that was told to stop has to do so.
	killGrace = 3 * time.Second
)

// result is what a finished command leaves.
type result struct {
	Output string // the file that keeps the output, on the executor's host
	Tail   string // the end of the output
}

// invocation is one attempt of one task.
type invocation struct {
	args                  []string
	index, tasks, attempt int
}

// execute runs the command to its end, its output and errors together in a
// file of its own. A command that fails is an error with the end of its output.
// When ctx ends, the command's whole process group is stopped.
func execute(ctx context.Context, i invocation) (result, error) {
	output, err := i.createOutput()
	if err != nil {
		return result{}, fmt.Errorf("output of task %d: %w", i.index, err)
	}
	defer output.Close()

	program, err := locate(i.args[0])
	if err != nil {
		return result{}, fmt.Errorf("%s%d: %w", errorMark, i.index, err)
	}
	command := exec.CommandContext(ctx, program, i.args[1:]...)
	command.Args[0] = i.args[0]
	command.Stdout, command.Stderr = output, output
	command.Env = i.environment()
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = killGrace
	err = command.Run()
	if command.Process != nil {
		// What the command left running in its group has nobody to wait for it.
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
	tail, tailErr := tailOf(output)
	if err == nil {
		return result{Output: output.Name(), Tail: tail}, tailErr
	}
	if cause := context.Cause(ctx); cause != nil {
		return result{}, cause
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return result{}, fmt.Errorf("%s%d: %w", errorMark, i.index, err)
	}
	return result{}, fmt.Errorf("%s%d %s\n%s", errorMark, i.index, ending(exit), strings.TrimRight(tail, "\n"))
}

// ending says how a command ended. The status of one that a signal ended is
// 128 and the signal's number, as a shell has it.
func ending(exit *exec.ExitError) string {
	status, ok := exit.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return fmt.Sprintf("exited with status %d (%v)", 128+int(status.Signal()), status.Signal())
	}
	return fmt.Sprintf("exited with status %d", exit.ExitCode())
}

// locate finds a command as a shell would. Shipped files lie in the working
// directory, and need no ./ in front.
func locate(name string) (string, error) {
	if !strings.ContainsRune(name, '/') {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return filepath.Abs(name)
		}
	}
	return exec.LookPath(name)
}

// createOutput makes the file that keeps the output: where YARN keeps the
// container's logs, or, where there is no container, among the temporary files
// under a name that no other run has.
func (i invocation) createOutput() (*os.File, error) {
	if directory, _, _ := strings.Cut(os.Getenv("LOG_DIRS"), ","); directory != "" {
		return os.Create(filepath.Join(directory, fmt.Sprintf("task-%d-%d.out", i.index, i.attempt)))
	}
	return os.CreateTemp("", fmt.Sprintf("task-%d-%d-*.out", i.index, i.attempt))
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
