package jobfile

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

const maxTasks = 100_000

// maxLine is the largest size of a line in the file that tasks.lines names, in bytes.
const maxLine = 64 << 10

// expand returns a step's tasks.
func (c *checker) expand(step *Step) []command.Task {
	tasks := &step.Tasks
	switch {
	case tasks.Combinations != nil:
		return c.combine(tasks)
	case tasks.HasItems:
		return c.items(tasks.Items)
	case tasks.Count.Value > maxTasks:
		c.report(tasks.At, "%d tasks: a step can have %d", tasks.Count.Value, maxTasks)
		return make([]command.Task, 1)
	default:
		return make([]command.Task, max(1, tasks.Count.Value))
	}
}

func (c *checker) items(items []Text) []command.Task {
	tasks := make([]command.Task, len(items))
	seen := map[string]bool{}
	for i, item := range items {
		if seen[item.Value] {
			c.report(item.At, "%q is in the list twice", item.Value)
		}
		seen[item.Value] = true
		tasks[i].Values = []command.Value{{Name: command.Item, Text: item.Value}}
	}
	return tasks
}

// combine returns a step's tasks. If the key "lines" names a file, each line of the file that
// is not blank becomes a task. Otherwise each combination of the matrix's values that
// "exclude" does not match, and each row of "include", becomes a task.
func (c *checker) combine(tasks *Tasks) []command.Task {
	written := tasks.Combinations
	if written.Lines.Value != "" {
		if written.Matrix != nil || written.Include != nil || written.Exclude != nil {
			c.report(written.Lines.At, "lines stands alone: tasks are either a file's lines or combinations")
		}
		return c.lines(written.Lines)
	}
	if written.Matrix == nil && written.Include == nil {
		c.report(tasks.At, "tasks: want matrix, include or lines")
		return nil
	}
	c.checkNames(written)
	rows, ok := c.product(written.Matrix, tasks.At)
	if !ok {
		return nil
	}
	for _, out := range written.Exclude {
		kept := slices.DeleteFunc(slices.Clone(rows), func(row command.Task) bool { return matchesRow(row, out) })
		if len(kept) == len(rows) && len(out) > 0 {
			c.report(out[0].Name.At, "exclude: no combination of the matrix is %s%s", describe(out), c.nearestValue(written.Matrix, out))
		}
		rows = kept
	}
	for _, more := range written.Include {
		if row, ok := c.includedTask(written, more); ok {
			if slices.ContainsFunc(rows, func(other command.Task) bool { return matchesRow(other, more) }) {
				c.report(more[0].Name.At, "include: %s is among the combinations already: include adds tasks, and changes none", describe(more))
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		c.report(tasks.At, "tasks: no combination is left")
	}
	return rows
}

// checkNames checks the names of task values, which become placeholders and names of
// environment variables.
func (c *checker) checkNames(written *combinations) {
	var names []Text
	for _, axis := range written.Matrix {
		names = append(names, axis.Name)
	}
	for _, row := range written.Include {
		for _, pair := range row {
			if written.Matrix == nil {
				names = append(names, pair.Name)
			}
		}
		if written.Matrix == nil {
			break // checking the first row suffices, because the others must have the same names
		}
	}
	variables := map[string]string{}
	for _, name := range names {
		if !valueName.MatchString(name.Value) {
			c.report(name.At, "%q cannot name a value: want letters, digits and _, and no digit first", name.Value)
		}
		if slices.Contains(builtinPlaceholders, name.Value) {
			c.report(name.At, "{%s} has a meaning of its own: choose another name", name.Value)
		}
		variable := command.Variable(name.Value)
		if other, ok := variables[variable]; ok {
			c.report(name.At, "%s and %s would both be %s in the environment: choose another name", other, name.Value, variable)
		}
		variables[variable] = name.Value
	}
}

// product returns all combinations of the values of a matrix. The values of the last axis vary
// fastest.
func (c *checker) product(matrix Matrix, at Position) ([]command.Task, bool) {
	if matrix == nil {
		return nil, true
	}
	rows := []command.Task{{}}
	for _, axis := range matrix {
		if len(rows)*len(axis.Values) > maxTasks {
			c.report(at, "the matrix has more than %d combinations", maxTasks)
			return nil, false
		}
		seen := map[string]bool{}
		next := make([]command.Task, 0, len(rows)*len(axis.Values))
		for _, value := range axis.Values {
			if seen[value.Value] {
				c.report(value.At, "%s has %q twice", axis.Name.Value, value.Value)
			}
			seen[value.Value] = true
		}
		for _, row := range rows {
			for _, value := range axis.Values {
				values := append(slices.Clone(row.Values), command.Value{Name: axis.Name.Value, Text: value.Value})
				next = append(next, command.Task{Values: values})
			}
		}
		rows = next
	}
	return rows, true
}

// includedTask returns the task for a row of "include". The task's values are in the same
// order as those of the other tasks.
func (c *checker) includedTask(written *combinations, row Row) (command.Task, bool) {
	if len(row) == 0 {
		return command.Task{}, false
	}
	var names []string
	if written.Matrix != nil {
		for _, axis := range written.Matrix {
			names = append(names, axis.Name.Value)
		}
	} else {
		for _, pair := range written.Include[0] {
			names = append(names, pair.Name.Value)
		}
	}
	ok := true
	for _, pair := range row {
		if !slices.Contains(names, pair.Name.Value) {
			hint := ""
			if nearest, found := config.Nearest(pair.Name.Value, names); found {
				hint = ", did you mean " + nearest + "?"
			}
			c.report(pair.Name.At, "include: the other combinations have no %s%s", pair.Name.Value, hint)
			ok = false
		}
	}
	var task command.Task
	for _, name := range names {
		at := slices.IndexFunc(row, func(p Pair) bool { return p.Name.Value == name })
		if at < 0 {
			c.report(row[0].Name.At, "include: %s is missing: each combination has a value for every name", name)
			ok = false
			continue
		}
		task.Values = append(task.Values, command.Value{Name: name, Text: row[at].Value.Value})
	}
	return task, ok
}

func matchesRow(task command.Task, row Row) bool {
	for _, pair := range row {
		if !slices.Contains(task.Values, command.Value{Name: pair.Name.Value, Text: pair.Value.Value}) {
			return false
		}
	}
	return true
}

func describe(row Row) string {
	parts := make([]string, len(row))
	for i, pair := range row {
		parts[i] = pair.Name.Value + ": " + pair.Value.Value
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// nearestValue returns the end of an error message about a row of "exclude" that matches no
// combination. It suggests a similar name or value of the matrix, reports that the matrix does
// not have the name, or lists the name's values.
func (c *checker) nearestValue(matrix Matrix, row Row) string {
	var names []string
	for _, axis := range matrix {
		names = append(names, axis.Name.Value)
	}
	for _, pair := range row {
		at := slices.Index(names, pair.Name.Value)
		if at < 0 {
			if nearest, ok := config.Nearest(pair.Name.Value, names); ok {
				return ", did you mean " + nearest + "?"
			}
			return ": it has no " + pair.Name.Value
		}
		var values []string
		for _, value := range matrix[at].Values {
			values = append(values, value.Value)
		}
		if slices.Contains(values, pair.Value.Value) {
			continue
		}
		if nearest, ok := config.Nearest(pair.Value.Value, values); ok {
			return ", did you mean " + pair.Name.Value + ": " + nearest + "?"
		}
		return ": " + pair.Name.Value + " has " + joinWithAnd(values)
	}
	return ""
}

// lines returns a task for each line of a file, except blank lines.
func (c *checker) lines(name Text) []command.Task {
	content, err := os.ReadFile(c.path(name.Value))
	if err != nil {
		c.report(name.At, "%v", err)
		return nil
	}
	var tasks []command.Task
	scanner := bufio.NewScanner(bytes.NewReader(content))
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		line := strings.TrimRight(scanner.Text(), "\r")
		if strings.TrimSpace(line) == "" {
			continue
		}
		if strings.ContainsRune(line, 0) {
			c.report(name.At, "%s is no text: a line of it has a NUL byte", name.Value)
			return nil
		}
		tasks = append(tasks, command.Task{Values: []command.Value{{Name: command.Item, Text: line}}})
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		c.report(name.At, "%s has a line of more than %d bytes", name.Value, maxLine)
	case err != nil:
		c.report(name.At, "%s: %v", name.Value, err)
	case len(tasks) == 0:
		c.report(name.At, "%s has no line that is not blank", name.Value)
	case len(tasks) > maxTasks:
		c.report(name.At, "%s has %d lines: a step can have %d tasks", name.Value, len(tasks), maxTasks)
	}
	return tasks
}
