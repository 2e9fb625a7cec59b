package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tasksDirectory holds the directories of tasks in a container's directory.
const tasksDirectory = ".bobbin-tasks"

// PlanFile is what a plan is called where it is shipped as a file.
const PlanFile = "bobbin-plan.json"

// notForTasks is what lies in a container's directory without being theirs: what
// the NodeManager puts there for itself, and what this package does.
var notForTasks = []string{"container_tokens", "launch_container.sh", "default_container_executor.sh",
	"default_container_executor_session.sh", "tmp", tasksDirectory, PlanFile}

// makeDirectory makes the directory of one try: new and empty, but for links to
// what was shipped with the application. In a container it lies in the
// container's directory, which the node removes at the latest.
func (c *common) makeDirectory(one invocation) (directory string, remove func() error, err error) {
	name := fmt.Sprintf("%s%d-%d", stepPrefix(one.step), one.index, one.attempt)
	links := c.Links
	parent := ""
	if !c.Here {
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

// shippedLinks are what lies in the container's directory.
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

// stepPrefix begins the names of what belongs to a step.
func stepPrefix(step string) string {
	if step == "" {
		return ""
	}
	return step + "."
}
