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
	"time"

	"github.com/bobbin-yarn/bobbin/internal/process"
)

// Status is the final state of a task.
type Status string

// Values of Status.
const (
	StatusSucceeded Status = "succeeded"
	StatusFailed    Status = "failed"
	StatusTimedOut  Status = "timed out"
	// StatusSkipped means that the task was not started, because a step that its step needs has
	// failed or was skipped.
	StatusSkipped Status = "skipped"
	// StatusUnfinished means that the task was killed or lost, or was not started for another
	// reason than that of StatusSkipped.
	StatusUnfinished Status = "unfinished"
)

// Outcome is the result of a task's last attempt.
type Outcome struct {
	Index  int    `json:"index"`
	Status Status `json:"status"`
	Exit   int    `json:"exit"` // exit status of the command; -1 if the command has none
	// Attempt is the number of the last attempt; the first attempt is 1.
	Attempt  int           `json:"try,omitempty"`
	Started  time.Time     `json:"started,omitzero"`
	Duration time.Duration `json:"duration,omitempty"`
	Host     string        `json:"host,omitempty"`
	Output   string        `json:"output,omitempty"` // path of the output file on the host Host
	// Message is a one-line reason why the task did not succeed; "" if it succeeded.
	Message string `json:"message,omitempty"`
	// Tail is the last part of the command's output.
	Tail  string `json:"tail,omitempty"`
	Files []File `json:"files,omitempty"` // collected files
	// Unmatched are the patterns for collected files that matched no file.
	Unmatched []string `json:"unmatched,omitempty"`
}

// File is a collected file.
type File struct {
	Source  string      `json:"source"`  // path relative to the results directory
	Collect int         `json:"collect"` // index of the pattern in Step.Collect
	Name    string      `json:"name"`    // path relative to the working directory, with slashes
	Size    int64       `json:"size"`
	Mode    fs.FileMode `json:"mode"` // permission bits of the file
}

// Error returns the error with which the application fails because of this task. step is the name
// of the task's step.
func (o *Outcome) Error(step string) error {
	text := errorMark
	if step != "" {
		text += "step " + step + ": "
	}
	separator := " "
	if o.Status == StatusFailed && o.Exit < 0 {
		separator = ": " // Message is the text of an error, not a sentence about the task
	}
	text += fmt.Sprintf("task %d%s%s", o.Index, separator, o.Message)
	if tail := strings.TrimRight(o.Tail, "\n"); tail != "" {
		text += "\n" + tail
	}
	return &commandError{text}
}

// set sets Status, Exit and Message according to err, the error of exec.Cmd.Run.
func (o *Outcome) set(err error) {
	var exit *exec.ExitError
	var limit *timeLimitError
	switch {
	case err == nil:
		o.Status, o.Exit = StatusSucceeded, 0
	case errors.As(err, &limit):
		o.Status, o.Exit, o.Message = StatusTimedOut, -1, limit.Error()
	case errors.As(err, &exit):
		o.Status, o.Exit, o.Message = StatusFailed, process.Status(exit), process.DescribeExit(exit)
	default:
		o.Status, o.Exit, o.Message = StatusFailed, -1, err.Error()
	}
}

// timeLimitError is the error of a command or a step that exceeded its time limit.
type timeLimitError struct{ limit time.Duration }

func (t *timeLimitError) Error() string {
	return fmt.Sprintf("ran for more than its limit of %v", t.limit)
}

// commandError is the error of an application whose command failed.
type commandError struct{ text string }

func (f *commandError) Error() string { return f.text }

// ExitStatus returns the exit status of this process for bobbin.Main, if the driver runs on this
// machine. It is the exit status of the command, or 1 if that is unknown or above 125, because
// shells use statuses above 125 for commands that they cannot run and for signals.
func (f *commandError) ExitStatus() int {
	const most = 125
	if status, found := ExitStatus(f.text); found && status >= 1 && status <= most {
		return status
	}
	return 1
}

// failure returns err without the text with which the driver prefixes the error of a command.
func failure(err error) error {
	if _, text, ok := strings.Cut(err.Error(), errorMark); ok {
		return &commandError{errorMark + text}
	}
	return err
}

// errorMark is the prefix of the error of a failed command. [ExitStatus] searches for the prefix in
// the diagnostics of an application.
const errorMark = process.ErrorPrefix

var exitStatus = regexp.MustCompile(`(?m)` + errorMark + `(?:step \S+: )?(?:(?:map|combine|reduce) )?task \d+ exited with status (\d+)`)

// ExitStatus returns the exit status of the failed command in an application's diagnostics. found
// reports whether the diagnostics contain an exit status.
func ExitStatus(diagnostics string) (status int, found bool) {
	match := exitStatus.FindStringSubmatch(diagnostics)
	if match == nil {
		return 0, false
	}
	status, err := strconv.Atoi(match[1])
	return status, err == nil
}

// stopped returns the cause of ctx if ctx has ended, and nil otherwise.
func stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
