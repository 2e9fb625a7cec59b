package jobfile

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

var (
	stepName     = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	valueName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	placeholder  = regexp.MustCompile(`(\$?)\{([A-Za-z_][A-Za-z0-9_]*)\}`)
)

// builtinPlaceholders are the placeholders that every task can use.
var builtinPlaceholders = []string{"index", "tasks", "attempt", "step"}

// checker checks a decoded job file for problems, and determines the tasks of each step.
type checker struct {
	*reporter
	file      *File
	directory string // absolute path of the job file's directory
	lookup    func(string) (string, bool)
}

// path resolves a path relative to the job file's directory.
func (c *checker) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.directory, name)
}

// check checks the whole job file and returns the tasks of each step.
func (c *checker) check() [][]command.Task {
	c.checkShipped(c.file.Files, "files")
	c.checkShipped(c.file.Archives, "archives")
	c.checkEnvironment(c.file.Environment)
	c.checkCollects(c.file.Collect)
	c.checkRetries(c.file.Retries)
	for _, tag := range c.file.Tags {
		if strings.ContainsRune(tag.Value, ',') {
			c.report(tag.At, "a tag cannot have a comma: write two tags")
		}
	}
	var tasks [][]command.Task
	for i := range c.file.Steps.List {
		step := &c.file.Steps.List[i]
		own := c.expand(step)
		tasks = append(tasks, own)
		if !stepName.MatchString(step.Name.Value) {
			c.report(step.Name.At, "%q cannot name a step: want a letter, then letters, digits, _ and -, at most 64", step.Name.Value)
		}
		c.checkEnvironment(step.Environment)
		c.checkCollects(step.Collect)
		c.checkRetries(step.Retries)
		c.checkStream(step)
		c.checkNeeds(step)
		c.checkPlaceholders(step, own)
	}
	c.checkCycles()
	return tasks
}

func (c *checker) checkShipped(names []Text, key string) {
	for _, name := range names {
		path, _, _ := strings.Cut(name.Value, "#")
		switch {
		case path == "":
			c.report(name.At, "%s: the name is empty", key)
		case strings.ContainsRune(name.Value, ','):
			c.report(name.At, "%s: %s has a comma in its name: rename it", key, name.Value)
		case strings.Contains(path, "://"):
		default:
			info, err := os.Stat(c.path(path))
			if err != nil {
				c.report(name.At, "%s: %v", key, err)
			} else if info.IsDir() {
				c.report(name.At, "%s: %s is a directory: name its files, or an archive of it in archives", key, path)
			}
		}
	}
}

func (c *checker) checkEnvironment(environment Environment) {
	for _, variable := range environment {
		name := variable.Name.Value
		switch {
		case !variableName.MatchString(name):
			c.report(variable.Name.At, "%q cannot name a variable: want letters, digits and _, and no digit first", name)
		case strings.HasPrefix(name, "TASK_"), strings.HasPrefix(name, "MATRIX_"), strings.HasPrefix(name, config.EnvironmentPrefix):
			c.report(variable.Name.At, "%s: variables that begin with TASK_, MATRIX_ and %s are set by yarn-submit: choose another name",
				name, config.EnvironmentPrefix)
		case variable.Inherited:
			if _, ok := c.lookup(name); !ok {
				c.report(variable.Name.At, "%s has no value here, so it is taken from where yarn-submit runs, and is not set there: set it, or give it a value", name)
			}
		case strings.ContainsRune(variable.Value.Value, 0):
			c.report(variable.Value.At, "%s: a variable cannot have a NUL byte", name)
		}
	}
}

func (c *checker) checkRetries(retries Number) {
	const most = 100
	if retries.Value > most {
		c.report(retries.At, "retries: want 0 to %d", most)
	}
}

func (c *checker) checkCollects(collects CollectRules) {
	for _, pair := range collects {
		if pair.Name.Value == "" || pair.Value.At == (Position{}) {
			continue // the decoder has reported the problem already
		}
		if _, err := command.NewCollectRule(pair.Name.Value, pair.Value.Value, c.directory); err != nil {
			c.report(pair.Name.At, "collect: %v", err)
		}
	}
}

func (c *checker) checkNeeds(step *Step) {
	names := c.stepNames()
	seen := map[string]bool{}
	for _, need := range step.Needs {
		switch {
		case seen[need.Value]:
			c.report(need.At, "needs has %s twice", need.Value)
		case !slices.Contains(names, need.Value):
			if nearest, ok := config.Nearest(need.Value, names); ok {
				c.report(need.At, "there is no step %s, did you mean %s?", need.Value, nearest)
			} else {
				c.report(need.At, "there is no step %s; there are %s", need.Value, joinWithAnd(names))
			}
		}
		seen[need.Value] = true
	}
}

func (c *checker) stepNames() []string {
	names := make([]string, len(c.file.Steps.List))
	for i, step := range c.file.Steps.List {
		names[i] = step.Name.Value
	}
	return names
}

// checkCycles reports the first dependency cycle that it finds in the "needs" keys of the
// steps.
func (c *checker) checkCycles() {
	names := c.stepNames()
	const (
		unseen = iota
		open
		done
	)
	states := make([]int, len(names))
	var path []string
	var visit func(i int) bool
	visit = func(i int) bool {
		states[i] = open
		path = append(path, names[i])
		for _, need := range c.file.Steps.List[i].Needs {
			next := slices.Index(names, need.Value)
			if next < 0 {
				continue
			}
			if states[next] == open {
				circle := append(path[slices.Index(path, names[next]):], names[next])
				c.report(need.At, "steps wait for one another: %s: take one of these out of needs", strings.Join(circle, " needs "))
				return false
			}
			if states[next] == unseen && !visit(next) {
				return false
			}
		}
		states[i] = done
		path = path[:len(path)-1]
		return true
	}
	for i := range names {
		if states[i] == unseen && !visit(i) {
			return
		}
	}
}

// checkPlaceholders reports placeholders that are unknown but resemble a known one. It also
// reports any known placeholder in a shell command, because the shell would interpret quotes
// and $ in the placeholder's value. A shell command can read the value from an environment
// variable instead.
func (c *checker) checkPlaceholders(step *Step, tasks []command.Task) {
	known := slices.Clone(builtinPlaceholders)
	if len(tasks) > 0 {
		for _, value := range tasks[0].Values {
			known = append(known, value.Name)
		}
	}
	places := []Text{step.WorkingDirectory}
	if !step.Command.Shell {
		places = append(places, step.Command.Args...)
	}
	for _, variable := range slices.Concat(c.file.Environment, step.Environment) {
		if !variable.Inherited {
			places = append(places, variable.Value)
		}
	}
	for _, collect := range slices.Concat(c.file.Collect, step.Collect) {
		places = append(places, collect.Name, collect.Value)
	}
	for _, place := range places {
		for _, match := range placeholder.FindAllStringSubmatch(place.Value, -1) {
			name := match[2]
			if slices.Contains(known, name) {
				continue
			}
			if nearest, ok := config.Nearest(name, known); ok {
				c.report(place.At, "{%s} is no value of the task, did you mean {%s}?", name, nearest)
			} else if name == command.Item {
				c.report(place.At, "{item} is no value of the task: tasks is no list")
			}
		}
	}
	if !step.Command.Shell || len(step.Command.Args) == 0 {
		return
	}
	for _, match := range placeholder.FindAllStringSubmatch(step.Command.Args[0].Value, -1) {
		if match[1] == "" && slices.Contains(known, match[2]) {
			c.report(step.Command.At, "a text for the shell has its values as variables: write \"$%s\" for {%s}, or the command as a list",
				shellVariable(match[2]), match[2])
			return
		}
	}
}

// shellVariable returns the name of the environment variable that has a placeholder's value.
func shellVariable(name string) string {
	switch name {
	case "index", "attempt", "step":
		return "TASK_" + strings.ToUpper(name)
	case "tasks":
		return "TASK_COUNT"
	}
	return command.Variable(name)
}
