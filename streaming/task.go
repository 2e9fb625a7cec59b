package streaming

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/process"
	"github.com/bobbin-yarn/bobbin/storage"
)

// commandKind is the kind of a command: map, combine or reduce.
type commandKind int

const (
	mapKind commandKind = iota
	combineKind
	reduceKind
)

func (k commandKind) String() string { return [...]string{"map", "combine", "reduce"}[k] }

// streamTask is one of a job's commands in one task attempt.
type streamTask struct {
	job     *arguments
	task    *bobbin.Task
	kind    commandKind
	command []string
}

type runningCommand struct {
	*process.Pipe
	task   *streamTask
	stderr *reporter
	log    io.Closer
	remove func() error // removes the command's working directory
}

// start starts the command. It calls emit for each line that the command prints. split is the
// split that a map command reads; it is nil for other commands. The caller must call r.close.
func (t *streamTask) start(split *storage.Split, emit func(line []byte) bool) (r *runningCommand, err error) {
	directory, remove, err := t.job.Step.Links.Directory(t.fileName())
	if err != nil {
		return nil, fmt.Errorf("the directory of %v: %w", t, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove())
		}
	}()
	program, err := process.Locate(directory, t.command[0])
	if err != nil {
		return nil, t.commandError(": "+err.Error(), "")
	}
	log, err := t.openLog()
	if err != nil {
		return nil, err
	}
	r = &runningCommand{task: t, log: log, remove: remove}
	r.stderr = &reporter{prefix: t.job.Options.Reporter, log: log, count: func(name string, n int64) {
		t.task.AddToCounter(t.job.Step.counterPrefix()+name, n)
	}}
	r.Pipe, err = process.Start(t.task, process.Command{
		Args: append([]string{program}, t.command[1:]...), Environment: t.environment(split), Directory: directory, Stderr: r.stderr,
	}, emit)
	if err != nil {
		return nil, errors.Join(t.commandError(": "+err.Error(), ""), log.Close())
	}
	return r, nil
}

// finish closes the command's stdin and waits for the command to exit. It returns an error
// if the command failed or reported too many counters.
func (r *runningCommand) finish() error {
	if r.Stopped() {
		return nil
	}
	err := r.Finish()
	var exit *exec.ExitError
	switch {
	case r.task.task.Err() != nil:
		return context.Cause(r.task.task)
	case errors.As(err, &exit) && r.task.job.Options.IgnoreExitStatus:
	case errors.As(err, &exit):
		return r.task.commandError(" "+process.DescribeExit(exit), r.stderr.tail.String())
	case err != nil:
		return r.task.commandError(": "+err.Error(), r.stderr.tail.String())
	}
	return errors.Join(r.stderr.flush(), r.stderr.err)
}

// close kills the command if it still runs, closes the command's log and removes its
// directory.
func (r *runningCommand) close() {
	r.End()
	_ = r.log.Close()
	_ = r.remove() // if this fails, YARN removes the directory with the container
}

// commandError returns the error of a failed command. tail is the end of its stderr.
func (t *streamTask) commandError(message, tail string) error {
	text := process.ErrorPrefix + t.String() + message
	if tail != "" {
		text += "\n" + tail
	}
	return errors.New(text)
}

// String returns a name of the task for messages, such as "step count: map task 3".
func (t *streamTask) String() string {
	name := fmt.Sprintf("%v task %d", t.kind, t.task.Index())
	if t.job.Step.Name != "" {
		name = "step " + t.job.Step.Name + ": " + name
	}
	return name
}

// fileName returns a name of the task attempt for files, such as "count.map-3-0".
func (t *streamTask) fileName() string {
	name := fmt.Sprintf("%v-%d-%d", t.kind, t.task.Index(), t.task.Attempt())
	if t.job.Step.Name != "" {
		name = t.job.Step.Name + "." + name
	}
	return name
}

// openLog opens the log for the command's stderr: a file in the container's log directory,
// or, outside of a container, this process's stderr.
func (t *streamTask) openLog() (io.WriteCloser, error) {
	if directory, _, _ := strings.Cut(os.Getenv("LOG_DIRS"), ","); directory != "" {
		return os.OpenFile(filepath.Join(directory, t.fileName()+".err"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	}
	return nopWriteCloser{os.Stderr}, nil
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
