package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tasksDirectory is the subdirectory of a container's working directory that
// contains the working directories of tasks.
const tasksDirectory = ".bobbin-tasks"

// PlanFile is the file name of a plan that is localized for the driver.
const PlanFile = "bobbin-plan.json"

// notForTasks are the files of the NodeManager and of this package in a
// container's working directory. Task directories have no links to them.
var notForTasks = []string{"container_tokens", "launch_container.sh", "default_container_executor.sh",
	"default_container_executor_session.sh", "tmp", tasksDirectory, PlanFile}

// makeDirectory creates the working directory of one attempt, with links to the
// localized files. In a container, it is created below the container's working
// directory, which the NodeManager deletes even if remove is never called.
func (c *common) makeDirectory(attempt invocation) (directory string, remove func() error, err error) {
	name := fmt.Sprintf("%s%d-%d", stepPrefix(attempt.step), attempt.index, attempt.attempt)
	links := c.Links
	parent := ""
	if !c.Local {
		if links, err = shippedLinks(); err != nil {
			return "", nil, err
		}
		if parent, err = filepath.Abs(tasksDirectory); err != nil {
			return "", nil, err
		}
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return "", nil, err
		}
	}
	if directory, err = os.MkdirTemp(parent, name+"-*"); err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(directory) }
	for _, link := range links {
		if err := os.Symlink(link.Path, filepath.Join(directory, link.Name)); err != nil {
			_ = remove()
			return "", nil, err
		}
	}
	return directory, remove, nil
}

// shippedLinks returns links to the files that were localized for the container.
func shippedLinks() ([]Link, error) {
	entries, err := os.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var links []Link
	for _, entry := range entries {
		name := entry.Name()
		if checksum := strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".crc"); checksum || slices.Contains(notForTasks, name) {
			continue
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		links = append(links, Link{Name: name, Path: path})
	}
	return links, nil
}

// stepPrefix returns the name prefix of a step's output files and directories.
func stepPrefix(step string) string {
	if step == "" {
		return ""
	}
	return step + "."
}
