package jobfile

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/command"
)

// defaultShell runs commands that are one text: it ends with the first that fails.
var defaultShell = []string{"sh", "-e", "-c"}

// Overrides are what a command line says over the file.
type Overrides struct {
	// Retries is that of every step; nil for the file's.
	Retries *int
	// Collect is beside what the file collects.
	Collect []command.Collect
}

// Plan is what the job is to do. It fails where files that come back could have
// the same names.
func (j *Job) Plan(over Overrides) (*command.Plan, error) {
	plan := &command.Plan{Name: j.Name(), Timeout: j.File.Timeout.Value}
	for i := range j.File.Steps.List {
		plan.Steps = append(plan.Steps, j.step(i, over))
	}
	number, which, err := plan.Collision()
	if err == nil {
		return plan, nil
	}
	var at Position
	if all := j.collects(number); which < len(all) {
		at = all[which].Value.At
	}
	return nil, Problems{{File: j.Path, At: at, Text: "collect: " + err.Error()}}
}

// Name is the job's: what the file says, or its own.
func (j *Job) Name() string {
	base := filepath.Base(j.Path)
	return cmp.Or(j.File.Name.Value, strings.TrimSuffix(base, filepath.Ext(base)))
}

// collects are what a step collects, by its own words and the job's.
func (j *Job) collects(step int) Collects {
	return slices.Concat(j.File.Collect, j.File.Steps.List[step].Collect)
}

func (j *Job) step(number int, over Overrides) command.Step {
	written := &j.File.Steps.List[number]
	step := command.Step{
		Name: written.Name.Value, Needs: values(written.Needs), Command: j.command(written), Environment: map[string]string{},
		OwnDirectory: true, WorkingDirectory: written.WorkingDirectory.Value,
		TaskTimeout: cmp.Or(written.TaskTimeout.Value, j.File.TaskTimeout.Value), Timeout: written.Timeout.Value,
		FailFast: written.FailFast.Value, AllowFailure: written.AllowFailure.Value, CPUs: written.CPUs.Value, Tasks: j.tasks[number],
	}
	switch {
	case over.Retries != nil:
		step.Retries = *over.Retries
	case written.Retries.Set:
		step.Retries = written.Retries.Value
	default:
		step.Retries = j.File.Retries.Value
	}
	for _, variable := range slices.Concat(j.File.Environment, written.Environment) {
		value := variable.Value.Value
		if variable.Inherited {
			value, _ = j.lookup(variable.Name.Value) // checked
		}
		step.Environment[variable.Name.Value] = value
	}
	for _, one := range j.collects(number) {
		if collect, err := command.NewCollect(one.Name.Value, one.Value.Value, j.directory); err == nil { // checked
			step.Collect = append(step.Collect, collect)
		}
	}
	step.Collect = append(step.Collect, over.Collect...)
	step.ByTask()
	return step
}

// command is the program and its arguments. A script of the submitter's, named
// ./script.sh, lies in the task's directory under its name alone.
func (j *Job) command(step *Step) []string {
	if !step.Command.Shell {
		args := values(step.Command.Args)
		if _, ok := j.script(step); ok {
			args[0] = "./" + filepath.Base(args[0])
		}
		return args
	}
	shell := values(step.Shell)
	if len(shell) == 0 {
		shell = values(j.File.Shell)
	}
	if len(shell) == 0 {
		shell = defaultShell
	}
	return slices.Concat(shell, []string{step.Command.Args[0].Value})
}

func values(texts []Text) []string {
	if texts == nil {
		return nil
	}
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = text.Value
	}
	return all
}
