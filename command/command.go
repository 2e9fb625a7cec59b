// Package command runs any command as the tasks of an application: what
// yarn-submit run starts in the cluster.
package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin"
)

// Options describe the application.
type Options struct {
	// Tasks is how many times the command runs, at least 1.
	Tasks int
	// Args are the command and its arguments. In each of them {index}, {tasks}
	// and {attempt} stand for the task's number from 0, the number of tasks and
	// the number of earlier tries.
	Args []string
	// MaxFailures is how often one task may fail before the application does;
	// 0 is as task.maxFailures says.
	MaxFailures int
}

// task is what one task gets to run.
type task struct {
	Tasks int
	Args  []string
}

var run = bobbin.Func("command", func(t *bobbin.Task, input task) (result, error) {
	return execute(t, invocation{
		args:    expand(input.Args, t.Index(), input.Tasks, t.Attempt()),
		index:   t.Index(),
		tasks:   input.Tasks,
		attempt: t.Attempt(),
	})
})

// Main runs the application in the role that the process was started in. It
// does not return.
func Main(options Options) {
	bobbin.Main(func(ctx context.Context) error { return options.drive(ctx) })
}

func (o Options) drive(ctx context.Context) error {
	if o.Tasks < 1 || len(o.Args) == 0 {
		return errors.New("command: nothing to run: a command and at least one task are needed")
	}
	session, err := bobbin.NewSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()

	inputs := make([]task, o.Tasks)
	for i := range inputs {
		inputs[i] = task{Tasks: o.Tasks, Args: o.Args}
	}
	settings := []bobbin.Option{bobbin.Name(o.Args[0])}
	if o.MaxFailures > 0 {
		settings = append(settings, bobbin.MaxFailures(o.MaxFailures))
	}
	for finished, err := range run.Stream(ctx, session, inputs, settings...) {
		if err != nil {
			return failure(err)
		}
		slog.Info("task finished", "task", finished.Index, "output", finished.Value.Output)
		if _, err := os.Stdout.WriteString(finished.Value.Tail); err != nil {
			return err
		}
	}
	return nil
}

// failed is the error of an application whose command failed.
type failed struct{ text string }

func (f *failed) Error() string { return f.text }

// ExitStatus is what bobbin.Main exits with when the application runs on this
// machine: the command's status, unless it is one of those that a shell gives
// for what it could not run and for signals.
func (f *failed) ExitStatus() int {
	const most = 125
	if status, found := ExitStatus(f.text); found && status <= most {
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
const errorMark = "command: task "

// ExitStatus finds the exit status of the failed command in the diagnostics of
// an application that Main ran.
func ExitStatus(diagnostics string) (status int, found bool) {
	_, rest, found := strings.Cut(diagnostics, errorMark)
	if !found {
		return 0, false
	}
	line, _, _ := strings.Cut(rest, "\n")
	_, number, found := strings.Cut(line, " exited with status ")
	if !found {
		return 0, false
	}
	number, _, _ = strings.Cut(number, " ")
	status, err := strconv.Atoi(strings.TrimRight(number, ":,."))
	return status, err == nil
}

func expand(args []string, index, tasks, attempt int) []string {
	replacer := strings.NewReplacer("{index}", strconv.Itoa(index), "{tasks}", strconv.Itoa(tasks),
		"{attempt}", strconv.Itoa(attempt))
	expanded := make([]string, len(args))
	for i, arg := range args {
		expanded[i] = replacer.Replace(arg)
	}
	return expanded
}

func (i invocation) environment() []string {
	return append(os.Environ(),
		"TASK_INDEX="+strconv.Itoa(i.index),
		"TASK_COUNT="+strconv.Itoa(i.tasks),
		"TASK_ATTEMPT="+strconv.Itoa(i.attempt),
	)
}
