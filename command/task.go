package command

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/internal/process"
)

// sharedInput is the input that all tasks of a step share, see [bobbin.Shared].
type sharedInput struct {
	Step    Step // the step, without its tasks
	Tasks   int
	Links   process.Links
	Results string // URI of the results directory of this application; "" for no results
	Number  int    // index of the step in the plan
	Limits  Limits
}

var run = bobbin.Func("command", func(t *bobbin.Task, input Task) (Outcome, error) {
	shared, err := bobbin.SharedValue[sharedInput](t)
	if err != nil {
		return Outcome{}, err
	}
	return shared.run(t, input)
})

// run runs one attempt of a task. If the command fails and retries are left, run returns an error,
// so that the driver retries the task. If the command fails in the last attempt, run returns its
// outcome and no error.
func (c *sharedInput) run(t *bobbin.Task, input Task) (outcome Outcome, err error) {
	attempt := c.invocation(input, t.Index(), t.Attempt())
	if c.Step.OwnDirectory {
		directory, remove, err := c.Links.Directory(fmt.Sprintf("%s%d-%d", stepPrefix(attempt.step), attempt.index, attempt.attempt))
		if err != nil {
			return Outcome{}, fmt.Errorf("the directory of task %d: %w", t.Index(), err)
		}
		defer func() { err = firstError(err, remove()) }()
		attempt.base = directory
	}
	outcome, err = execute(t, attempt)
	if err != nil {
		return Outcome{}, err
	}
	outcome.Index, outcome.Attempt, outcome.Host = t.Index(), t.Attempt()+1, t.Host()
	if outcome.Status != StatusSucceeded && t.Attempt() < c.Step.Retries {
		return Outcome{}, outcome.Error(c.Step.Name)
	}
	if c.Results != "" {
		if err := c.collect(t, &outcome, attempt, input); err != nil {
			return Outcome{}, fmt.Errorf("step %s: the files of task %d: %w", c.Step.Name, t.Index(), err)
		}
	}
	return outcome, nil
}

// firstError returns the first of two errors that is not nil.
func firstError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// invocation returns the invocation of the command by an attempt of a task.
func (c *sharedInput) invocation(input Task, index, attempt int) invocation {
	expand := func(text string) string { return c.Step.Expand(text, input, index, c.Tasks, attempt) }
	inv := invocation{
		step: c.Step.Name, index: index, attempt: attempt, timeout: c.Step.TaskTimeout,
		base: ".", below: expand(c.Step.WorkingDirectory),
		args: make([]string, len(c.Step.Command)),
	}
	for i, arg := range c.Step.Command {
		inv.args[i] = expand(arg)
	}
	inv.environment = append(os.Environ(),
		"TASK_INDEX="+strconv.Itoa(index),
		"TASK_COUNT="+strconv.Itoa(c.Tasks),
		"TASK_ATTEMPT="+strconv.Itoa(attempt),
	)
	if c.Step.Name != "" {
		inv.environment = append(inv.environment, "TASK_STEP="+c.Step.Name)
	}
	for _, value := range input.Values {
		inv.environment = append(inv.environment, Variable(value.Name)+"="+value.Text)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Step.Environment)) {
		inv.environment = append(inv.environment, name+"="+expand(c.Step.Environment[name]))
	}
	return inv
}
