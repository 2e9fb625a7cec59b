package streaming

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/storage"
)

// environment returns the environment of a command: the variables of this process, then the
// job's properties under the names that variableName returns (as in Hadoop Streaming), then
// Job.Environment. If a name occurs more than once, its last value applies. split is the split
// that a map command reads; it is nil for other commands.
func (t *streamTask) environment(split *storage.Split) []string {
	job := strings.TrimPrefix(t.job.Application, "application_")
	kind := "r"
	if t.kind != reduceKind {
		kind = "m"
	}
	id := fmt.Sprintf("%s_%s_%06d", job, kind, t.task.Index())
	// Each entry is a property's current name, its name in Hadoop 1, and its value.
	properties := [][3]string{
		{"mapreduce.job.id", "mapred.job.id", "job_" + job},
		{PropertyName, "mapred.job.name", t.job.Job.Name},
		{PropertyReducers, "mapred.reduce.tasks", strconv.Itoa(t.job.Options.Reducers)},
		{"mapreduce.input.fileinputformat.inputdir", "mapred.input.dir", strings.Join(t.job.Job.Inputs, ",")},
		{"mapreduce.output.fileoutputformat.outputdir", "mapred.output.dir", t.job.Job.Output},
		{"mapreduce.task.id", "mapred.tip.id", "task_" + id},
		{"mapreduce.task.attempt.id", "mapred.task.id", fmt.Sprintf("attempt_%s_%d", id, t.task.Attempt())},
		{"mapreduce.task.partition", "mapred.task.partition", strconv.Itoa(t.task.Index())},
		{"mapreduce.task.ismap", "mapred.task.is.map", strconv.FormatBool(kind == "m")},
	}
	if split != nil {
		properties = append(properties,
			[3]string{"mapreduce.map.input.file", "map.input.file", split.Path},
			[3]string{"mapreduce.map.input.start", "map.input.start", strconv.FormatInt(split.Offset, 10)},
			[3]string{"mapreduce.map.input.length", "map.input.length", strconv.FormatInt(split.Length, 10)})
	}
	variables := os.Environ()
	add := func(name, value string) { variables = append(variables, variableName(name)+"="+value) }
	for _, name := range slices.Sorted(maps.Keys(t.job.Job.Properties)) {
		value := t.job.Job.Properties[name]
		add(name, value)
		if present := deprecated[name]; present != "" {
			add(present, value)
		}
	}
	for _, property := range properties {
		add(property[0], property[2])
		add(property[1], property[2])
	}
	for _, name := range slices.Sorted(maps.Keys(t.job.Job.Environment)) {
		variables = append(variables, name+"="+t.job.Job.Environment[name])
	}
	return variables
}

// variableName returns a property's name with _ in place of each character that is neither
// an ASCII letter nor a digit.
func variableName(property string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, property)
}
