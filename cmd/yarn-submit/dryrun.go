package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// dryRun is the JSON output of --dry-run.
type dryRun struct {
	Name     string                `json:"name"`
	Master   string                `json:"master"`
	Queue    string                `json:"queue,omitempty"` // "" if the cluster chooses the queue
	Files    []string              `json:"files"`
	Archives []string              `json:"archives"`
	Settings map[string]drySetting `json:"settings"` // by key; only settings that were set explicitly
	Plan     *command.Plan         `json:"plan"`
}

type drySetting struct {
	Value  string `json:"value"`
	Source string `json:"source"`
}

// inheritedValue is printed instead of a value from the environment, because the value may be a
// secret.
const inheritedValue = "(from the environment)"

// printDryRun prints what a submission would submit.
func (w *runJob) printDryRun(t terminal, asJSON bool) error {
	w.hideInherited()
	dry := dryRun{
		Name: w.plan.Name, Master: cmp.Or(config.Master.In(w.settings), "yarn"), Queue: config.Queue.In(w.settings),
		Files: config.Files.In(w.settings), Archives: config.Archives.In(w.settings), Settings: map[string]drySetting{}, Plan: w.plan,
	}
	for _, link := range w.plan.Links.List {
		dry.Files = append(dry.Files, link.Path+"#"+link.Name)
	}
	for key, value := range redacted(w.settings) {
		dry.Settings[key] = drySetting{value, w.settings.Source(key)}
	}
	for _, step := range w.plan.Steps {
		for name, value := range step.Environment {
			step.Environment[name] = w.settings.Redact(name, value)
		}
	}
	if asJSON {
		return t.printJSON(dry)
	}
	_, err := fmt.Fprint(t.stdout, dry.text(w.settings))
	return err
}

// hideInherited replaces the values in w.plan that come from the environment of this process by
// inheritedValue.
func (w *runJob) hideInherited() {
	if w.job == nil {
		return
	}
	for i := range w.plan.Steps {
		step := &w.plan.Steps[i]
		for _, variable := range slices.Concat(w.job.File.Environment, w.job.File.Steps.List[i].Environment) {
			name := variable.Name.Value
			if variable.Inherited && step.Environment[name] != "" {
				step.Environment[name] = inheritedValue
			}
		}
	}
}

// maxShownTasks is the maximum number of tasks that are printed for each step.
const maxShownTasks = 20

func (d *dryRun) text(settings *config.Config) string {
	var b strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-11s %s\n", label, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "job %s, which is not submitted\n", d.Name)
	line("master", "%s", d.Master)
	if d.Queue != "" {
		line("queue", "%s", d.Queue)
	}
	line("driver", "%d cores, %v", config.DriverCores.In(settings), config.DriverMemory.In(settings))
	line("executors", "%d of %d cores, %v each", config.ExecutorInstances.In(settings), config.ExecutorCores.In(settings), config.ExecutorMemory.In(settings))
	if d.Plan.Timeout > 0 {
		line("timeout", "%v", d.Plan.Timeout)
	}
	for _, file := range d.Files {
		line("file", "%s", file)
	}
	for _, archive := range d.Archives {
		line("archive", "%s", archive)
	}
	for _, key := range slices.Sorted(maps.Keys(d.Settings)) {
		line("setting", "%s=%s  (%s)", key, d.Settings[key].Value, d.Settings[key].Source)
	}
	for i := range d.Plan.Steps {
		d.step(&b, line, &d.Plan.Steps[i])
	}
	return b.String()
}

func (d *dryRun) step(b *strings.Builder, line func(label, format string, args ...any), step *command.Step) {
	name, size := "command", fmt.Sprintf("%d tasks", len(step.Tasks))
	switch {
	case step.Stream != nil:
		name, size = "stream", "a streaming job"
	case len(step.Tasks) == 1:
		size = "1 task"
	}
	if step.Name != "" {
		name = "step " + step.Name
	}
	fmt.Fprintf(b, "%s, %s\n", name, size)
	if len(step.Needs) > 0 {
		line("needs", "%s", strings.Join(step.Needs, ", "))
	}
	commandLine := func(label string, words []string) {
		if len(words) > 0 {
			line(label, "%s", strings.ReplaceAll(strings.TrimRight(strings.Join(words, " "), "\n"), "\n", "\n"+strings.Repeat(" ", 14)))
		}
	}
	commandLine("command", step.Command)
	if job := step.Stream; job != nil {
		commandLine("map", job.Map)
		commandLine("combine", job.Combine)
		commandLine("reduce", job.Reduce)
		line("input", "%s", strings.Join(job.Inputs, ", "))
		line("output", "%s", job.Output)
		for _, property := range slices.Sorted(maps.Keys(job.Properties)) {
			line("property", "%s=%s", property, job.Properties[property])
		}
	}
	if step.WorkingDirectory != "" {
		line("directory", "%s", step.WorkingDirectory)
	}
	for _, variable := range slices.Sorted(maps.Keys(step.Environment)) {
		line("environment", "%s=%s", variable, step.Environment[variable])
	}
	var limits []string
	if step.Stream == nil {
		limits = append(limits, fmt.Sprintf("%d retries", step.Retries))
	}
	if step.TaskTimeout > 0 {
		limits = append(limits, fmt.Sprintf("%v a try", step.TaskTimeout))
	}
	if step.Timeout > 0 {
		limits = append(limits, fmt.Sprintf("%v in all", step.Timeout))
	}
	if step.CPUs > 0 {
		limits = append(limits, fmt.Sprintf("%d cores a task", step.CPUs))
	}
	if step.FailFast && step.Name != "" {
		limits = append(limits, "ends with its first failure")
	}
	if step.AllowFailure {
		limits = append(limits, "may fail")
	}
	if len(limits) > 0 {
		line("limits", "%s", strings.Join(limits, ", "))
	}
	for _, collect := range step.Collect {
		line("collect", "%s into %s", collect.Pattern, collect.Directory)
	}
	for i, task := range step.Tasks {
		if len(task.Values) == 0 {
			break
		}
		if i == maxShownTasks {
			line("…", "%d more", len(step.Tasks)-maxShownTasks)
			break
		}
		parts := make([]string, len(task.Values))
		for j, value := range task.Values {
			parts[j] = value.Name + "=" + value.Text
		}
		line(fmt.Sprintf("task %d", i), "%s", strings.Join(parts, ", "))
	}
}
