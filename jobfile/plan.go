package jobfile

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/command"
)

// defaultShell executes a command that is written as one text. It stops at the first line that
// fails.
var defaultShell = []string{"sh", "-e", "-c"}

// CommandLineOptions are command line options that change a job.
type CommandLineOptions struct {
	// Retries replaces the number of retries of every step; nil leaves the numbers unchanged.
	Retries *int
	// Collect has patterns that every step collects in addition to those in the job file.
	Collect []command.CollectRule
}

// Plan returns a plan that runs the job. It fails if collected files of two tasks could have
// the same path.
func (j *Job) Plan(over CommandLineOptions) (*command.Plan, error) {
	plan := &command.Plan{Name: j.Name(), Timeout: j.File.Timeout.Value}
	for i := range j.File.Steps.List {
		plan.Steps = append(plan.Steps, j.step(i, over))
	}
	number, which, err := plan.FindCollision()
	if err == nil {
		return plan, nil
	}
	var at Position
	if all := j.collects(number); which < len(all) {
		at = all[which].Value.At
	}
	return nil, Problems{{File: j.Path, At: at, Text: "collect: " + err.Error()}}
}

// Name returns the job's name. The default is the file's name without its extension.
func (j *Job) Name() string {
	base := filepath.Base(j.Path)
	return cmp.Or(j.File.Name.Value, strings.TrimSuffix(base, filepath.Ext(base)))
}

// collects returns the patterns that a step collects: first those of the whole job, then those
// of the step.
func (j *Job) collects(step int) CollectRules {
	return slices.Concat(j.File.Collect, j.File.Steps.List[step].Collect)
}

func (j *Job) step(number int, over CommandLineOptions) command.Step {
	written := &j.File.Steps.List[number]
	step := command.Step{
		Name: written.Name.Value, Needs: values(written.Needs), Environment: map[string]string{},
		OwnDirectory: true, WorkingDirectory: written.WorkingDirectory.Value,
		TaskTimeout: cmp.Or(written.TaskTimeout.Value, j.File.TaskTimeout.Value), Timeout: written.Timeout.Value,
		FailFast: written.FailFast.Value, AllowFailure: written.AllowFailure.Value, CPUs: written.CPUs.Value, Tasks: j.tasks[number],
	}
	if written.Stream.Set {
		step.Stream = j.stream(written)
	} else {
		step.Command = j.command(&written.Command, written.Shell)
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
			value, _ = j.lookup(variable.Name.Value) // checkEnvironment has reported variables that are not set
		}
		step.Environment[variable.Name.Value] = value
	}
	if step.Stream != nil {
		return step // nothing is collected from a streaming job
	}
	for _, pair := range j.collects(number) {
		if collect, err := command.NewCollectRule(pair.Name.Value, pair.Value.Value, j.directory); err == nil { // checkCollects has reported invalid rules
			step.Collect = append(step.Collect, collect)
		}
	}
	step.Collect = append(step.Collect, over.Collect...)
	step.SeparateTargetsByTask()
	return step
}

// command returns the program and arguments of a command, or nil if the job file does not have
// the command. own is the step's shell. A local script becomes ./script.sh, because it is
// localized into the task's working directory.
func (j *Job) command(written *Command, own Shell) []string {
	if !written.Shell {
		args := values(written.Args)
		if _, ok := j.script(written); ok {
			args[0] = "./" + filepath.Base(args[0])
		}
		return args
	}
	shell := values(own)
	if len(shell) == 0 {
		shell = values(j.File.Shell)
	}
	if len(shell) == 0 {
		shell = defaultShell
	}
	return slices.Concat(shell, []string{written.Args[0].Value})
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
