package jobfile

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/streaming"
)

// commandKeys are the keys that a step with a streaming job must not have, in the order in
// which checkStream checks them.
var commandKeys = []string{"command", "tasks", "working_directory", "retries", "task_timeout", "cpus", "fail_fast", "collect"}

// stream returns the streaming job of a step.
func (j *Job) stream(step *Step) *streaming.Job {
	written := &step.Stream
	job := &streaming.Job{
		Name: j.Name() + "." + step.Name.Value, Inputs: values(written.Input), Output: written.Output.Value,
		Map: j.command(&written.Map, step.Shell), Combine: j.command(&written.Combine, step.Shell), Reduce: j.command(&written.Reduce, step.Shell),
		Compression: written.Compress.Value, Overwrite: written.Overwrite.Value,
		Properties: map[string]string{},
	}
	for _, property := range written.Properties {
		job.Properties[property.Name.Value] = property.Value.Value
	}
	for name, text := range map[string]Text{
		streaming.PropertySeparator: written.Separator, streaming.PropertySort: written.Sort, streaming.PropertyPartition: written.Partition,
	} {
		if text.Value != "" {
			job.Properties[name] = text.Value
		}
	}
	for name, number := range map[string]Number{streaming.PropertyReducers: written.Reducers, streaming.PropertyKeyFields: written.KeyFields} {
		if number.Set {
			job.Properties[name] = strconv.Itoa(number.Value)
		}
	}
	job.SeparateKeys(written.Separator.Value)
	return job
}

// checkStream reports problems of a step's streaming job, and keys that only a step with a
// command may have.
func (c *checker) checkStream(step *Step) {
	written := []bool{
		len(step.Command.Args) > 0, step.Tasks.At.Line > 0, step.WorkingDirectory.At.Line > 0, step.Retries.Set,
		step.TaskTimeout.At.Line > 0, step.CPUs.Set, step.FailFast.Value, len(step.Collect) > 0,
	}
	if !step.Stream.Set {
		return
	}
	if i := slices.Index(written, true); i >= 0 {
		c.report(step.Stream.At, "step %s has a streaming job, and so cannot have %s", step.Name.Value, commandKeys[i])
		return
	}
	for _, place := range append(slices.Clone(step.Stream.Input), step.Stream.Output) {
		if !path.IsAbs(place.Value) && !strings.Contains(place.Value, ":/") {
			c.report(place.At, "%q: want a URI such as hdfs:///logs, or an absolute path", place.Value)
		}
	}
	if err := (&Job{File: c.file, Path: c.reporter.file, directory: c.directory}).stream(step).Check(); err != nil {
		c.report(step.Stream.At, "step %s: %v", step.Name.Value, err)
	}
}
