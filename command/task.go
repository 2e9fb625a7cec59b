package command

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/bobbin-yarn/bobbin"
)

// common is what all tasks of a step get.
type common struct {
	Step    Step // without its tasks
	Tasks   int
	Here    bool
	Links   []Link
	Results string // the URI of this application's results; "" for none
	Number  int    // of the step
	Limits  Limits
}

var run = bobbin.Func("command", func(t *bobbin.Task, input Task) (Outcome, error) {
	shared, err := bobbin.SharedValue[common](t)
	if err != nil {
		return Outcome{}, err
	}
	return shared.try(t, input)
})

// try is one try of a task. The error of a try that is not the last has the
// scheduler find a place for the next; the last one's failure is an outcome.
func (c *common) try(t *bobbin.Task, input Task) (outcome Outcome, err error) {
	one := c.invocation(input, t.Index(), t.Attempt())
	if c.Step.OwnDirectory {
		directory, remove, err := c.makeDirectory(one)
		if err != nil {
			return Outcome{}, fmt.Errorf("the directory of task %d: %w", t.Index(), err)
		}
		defer func() { err = firstOf(err, remove()) }()
		one.base = directory
	}
	outcome, err = execute(t, one)
	if err != nil {
		return Outcome{}, err
	}
	outcome.Index, outcome.Try, outcome.Host = t.Index(), t.Attempt()+1, t.Host()
	if outcome.Status != Succeeded && t.Attempt() < c.Step.Retries {
		return Outcome{}, outcome.Error(c.Step.Name)
	}
	if c.Results != "" {
		if err := c.collect(t, &outcome, one, input); err != nil {
			return Outcome{}, fmt.Errorf("step %s: the files of task %d: %w", c.Step.Name, t.Index(), err)
		}
	}
	return outcome, nil
}

func firstOf(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// invocation is what one try runs.
func (c *common) invocation(input Task, index, attempt int) invocation {
	expand := func(text string) string { return c.Step.Expand(text, input, index, c.Tasks, attempt) }
	one := invocation{
		step: c.Step.Name, index: index, attempt: attempt, timeout: c.Step.TaskTimeout,
		base: ".", below: expand(c.Step.WorkingDirectory),
		args: make([]string, len(c.Step.Command)),
	}
	for i, arg := range c.Step.Command {
		one.args[i] = expand(arg)
	}
	one.environment = append(os.Environ(),
		"TASK_INDEX="+strconv.Itoa(index),
		"TASK_COUNT="+strconv.Itoa(c.Tasks),
		"TASK_ATTEMPT="+strconv.Itoa(attempt),
	)
	if c.Step.Name != "" {
		one.environment = append(one.environment, "TASK_STEP="+c.Step.Name)
	}
	for _, value := range input.Values {
		one.environment = append(one.environment, Variable(value.Name)+"="+value.Text)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Step.Environment)) {
		one.environment = append(one.environment, name+"="+expand(c.Step.Environment[name]))
	}
	return one
}
