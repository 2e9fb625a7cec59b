package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Status is how a task ended.
type Status string

// How tasks end.
const (
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
	TimedOut  Status = "timed out"
	// Skipped is a task that was never started: its step waits for one that failed.
	Skipped Status = "skipped"
	// Unfinished is a task that had no end of its own: it was killed, lost, or
	// never came to run, though nothing before it had failed.
	Unfinished Status = "unfinished"
)

// Outcome is what the last try of a task came to.
type Outcome struct {
	Index  int    `json:"index"`
	Status Status `json:"status"`
	Exit   int    `json:"exit"` // the command's status; -1 where it has none
	// Try counts from 1.
	Try      int           `json:"try,omitempty"`
	Started  time.Time     `json:"started,omitzero"`
	Duration time.Duration `json:"duration,omitempty"`
	Host     string        `json:"host,omitempty"`
	Output   string        `json:"output,omitempty"` // the file on the host that keeps the output
	// Message is why it did not succeed, in one line.
	Message string `json:"message,omitempty"`
	// Tail is the end of the output.
	Tail  string `json:"tail,omitempty"`
	Files []File `json:"files,omitempty"` // that come back
	// Unmatched are patterns of files to come back that no file matches.
	Unmatched []string `json:"unmatched,omitempty"`
}

// File is one file that a task brings back.
type File struct {
	Source  string      `json:"source"`  // below the directory of the results
	Collect int         `json:"collect"` // which of the step's
	Name    string      `json:"name"`    // below the working directory, with slashes
	Size    int64       `json:"size"`
	Mode    fs.FileMode `json:"mode"` // permission bits
}

// Error is the text of an application that failed with the task.
func (o *Outcome) Error(step string) error {
	text := errorMark
	if step != "" {
		text += "step " + step + ": "
	}
	separator := " "
	if o.Status == Failed && o.Exit < 0 {
		separator = ": " // the message is another's, no sentence about the task
	}
	text += fmt.Sprintf("task %d%s%s", o.Index, separator, o.Message)
	if tail := strings.TrimRight(o.Tail, "\n"); tail != "" {
		text += "\n" + tail
	}
	return &failed{text}
}

// set records how the command ended.
func (o *Outcome) set(err error) {
	var exit *exec.ExitError
	var limit *timeLimit
	switch {
	case err == nil:
		o.Status, o.Exit = Succeeded, 0
	case errors.As(err, &limit):
		o.Status, o.Exit, o.Message = TimedOut, -1, limit.Error()
	case errors.As(err, &exit):
		o.Status, o.Exit, o.Message = Failed, statusOf(exit), ending(exit)
	default:
		o.Status, o.Exit, o.Message = Failed, -1, err.Error()
	}
}

// timeLimit ends a command that runs too long.
type timeLimit struct{ limit time.Duration }

func (t *timeLimit) Error() string { return fmt.Sprintf("ran for more than its limit of %v", t.limit) }

// statusOf is the exit status of a command; of one that a signal ended it is
// 128 and the signal's number, as a shell has it.
func statusOf(exit *exec.ExitError) int {
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

// ending says how a command ended.
func ending(exit *exec.ExitError) string {
	text := fmt.Sprintf("exited with status %d", statusOf(exit))
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		text += fmt.Sprintf(" (%v)", status.Signal())
	}
	return text
}

// failed is the error of an application whose command failed.
type failed struct{ text string }

func (f *failed) Error() string { return f.text }

// ExitStatus is what bobbin.Main exits with when the application runs on this
// machine: the command's status, unless it is one of those that a shell gives
// for what it could not run and for signals.
func (f *failed) ExitStatus() int {
	const most = 125
	if status, found := ExitStatus(f.text); found && status >= 1 && status <= most {
		return status
	}
	return 1
}

// failure puts what the command itself said in front of what the scheduler
// says around it.
func failure(err error) error {
	if _, said, ok := strings.Cut(err.Error(), errorMark); ok {
		return &failed{errorMark + said}
	}
	return err
}

// errorMark begins the error of a command that failed. yarn-submit run looks
// for it in the application's diagnostics to end with the command's status.
const errorMark = "command: "

var exitStatus = regexp.MustCompile(`(?m)` + errorMark + `(?:step \S+: )?task \d+ exited with status (\d+)`)

// ExitStatus finds the exit status of the failed command in the diagnostics of
// an application that Main ran.
func ExitStatus(diagnostics string) (status int, found bool) {
	match := exitStatus.FindStringSubmatch(diagnostics)
	if match == nil {
		return 0, false
	}
	status, err := strconv.Atoi(match[1])
	return status, err == nil
}

// stopped tells why a context ended that has a reason of its own.
func stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
