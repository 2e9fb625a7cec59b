package jobfile

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Setting is a setting in a job file, with its position.
type Setting struct {
	Key, Value string
	At         Position
}

// Settings returns the settings of all keys that stand for a setting, such as "queue", and the
// settings below the key "conf". It fails if a setting is set in both ways.
func (j *Job) Settings() ([]Setting, error) {
	var all []Setting
	add := func(key, value string, at Position) {
		if value != "" {
			all = append(all, Setting{key, value, at})
		}
	}
	number := func(key string, n Number) {
		if n.Set {
			add(key, strconv.Itoa(n.Value), n.At)
		}
	}
	file := j.File
	add(config.AppName.Name(), j.Name(), file.Name.At)
	add(config.Queue.Name(), file.Queue.Value, file.Queue.At)
	if len(file.Tags) > 0 {
		add(config.Tags.Name(), strings.Join(values(file.Tags), ","), file.Tags[0].At)
	}
	number(config.Priority.Name(), file.Priority)
	driver, executors := &file.Resources.Driver, &file.Resources.Executors
	add(config.DriverMemory.Name(), driver.Memory.Value, driver.Memory.At)
	number(config.DriverCores.Name(), driver.Cores)
	add(config.AMLabel.Name(), driver.NodeLabel.Value, driver.NodeLabel.At)
	number(config.ExecutorInstances.Name(), executors.Instances)
	add(config.ExecutorMemory.Name(), executors.Memory.Value, executors.Memory.At)
	number(config.ExecutorCores.Name(), executors.Cores)
	add(config.ExecutorLabel.Name(), executors.NodeLabel.Value, executors.NodeLabel.At)
	for _, amount := range driver.Resources {
		add("yarn.driver.resource."+amount.Name.Value+".amount", amount.Value.Value, amount.Name.At)
	}
	for _, amount := range executors.Resources {
		add("yarn.executor.resource."+amount.Name.Value+".amount", amount.Value.Value, amount.Name.At)
	}
	files, at := j.shipped()
	add(config.Files.Name(), strings.Join(files, ","), at)
	if len(file.Archives) > 0 {
		add(config.Archives.Name(), strings.Join(j.paths(file.Archives), ","), file.Archives[0].At)
	}
	var reporter = reporter{file: j.Path}
	for _, pair := range file.Conf {
		if i := slices.IndexFunc(all, func(s Setting) bool { return s.Key == pair.Name.Value }); i >= 0 && all[i].At.Line > 0 {
			reporter.report(pair.Name.At, "conf: %s is set by a key of its own in line %d: leave one of them out", pair.Name.Value, all[i].At.Line)
			continue
		}
		all = slices.DeleteFunc(all, func(s Setting) bool { return s.Key == pair.Name.Value })
		all = append(all, Setting{pair.Name.Value, pair.Value.Value, pair.Name.At})
	}
	return all, reporter.err()
}

// shipped returns the files to localize for every container: those that the job file lists,
// and local scripts.
func (j *Job) shipped() (files []string, at Position) {
	files = j.paths(j.File.Files)
	if len(files) > 0 {
		at = j.File.Files[0].At
	}
	for i := range j.File.Steps.List {
		step := &j.File.Steps.List[i]
		for _, command := range []*Command{&step.Command, &step.Stream.Map, &step.Stream.Combine, &step.Stream.Reduce} {
			if path, ok := j.script(command); ok && !slices.Contains(files, path) {
				files = append(files, path)
				if at.Line == 0 {
					at = command.At
				}
			}
		}
	}
	return files, at
}

// script returns the path of the local file that a command executes, such as ./script.sh. ok
// is false if the command does not execute a local file.
func (j *Job) script(command *Command) (path string, ok bool) {
	if command.Shell || len(command.Args) == 0 {
		return "", false
	}
	name := command.Args[0].Value
	if !strings.ContainsRune(name, '/') || filepath.IsAbs(name) {
		return "", false
	}
	path = filepath.Join(j.directory, name)
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

// paths resolves paths relative to the job file's directory. It does not change URIs.
func (j *Job) paths(names []Text) []string {
	all := make([]string, len(names))
	for i, name := range names {
		path, rest, renamed := strings.Cut(name.Value, "#")
		if !strings.Contains(path, "://") && !filepath.IsAbs(path) {
			path = filepath.Join(j.directory, path)
		}
		if all[i] = path; renamed {
			all[i] += "#" + rest
		}
	}
	return all
}
