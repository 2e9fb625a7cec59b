package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tasksDirectory is the name of a directory in a container's working directory. It contains
// the tasks' working directories.
const tasksDirectory = ".bobbin-tasks"

// PlanFile is the name of the localized file in which the driver finds the plan of package
// command.
const PlanFile = "bobbin-plan.json"

// unlinkedFiles are names in a container's working directory to which tasks' directories
// get no links: those files belong to the NodeManager or to bobbin.
var unlinkedFiles = []string{"container_tokens", "launch_container.sh", "default_container_executor.sh",
	"default_container_executor_session.sh", "tmp", tasksDirectory, PlanFile}

// Link is a symbolic link in a task's directory to a local file or directory.
type Link struct {
	Name string `json:"name"`
	Path string `json:"path"` // absolute
}

// Links says which symbolic links tasks' directories get.
type Links struct {
	// Local is set if tasks run on the submitter's machine. Their directories then get the links
	// in List. If Local is not set, they get a link to each file that the NodeManager has
	// localized.
	Local bool   `json:"local,omitempty"`
	List  []Link `json:"links,omitempty"`
}

// Directory creates the working directory of one task attempt. The directory's name begins
// with name. remove deletes it. On YARN, the NodeManager also deletes it, with the
// container's directory.
func (l Links) Directory(name string) (directory string, remove func() error, err error) {
	links := l.List
	parent := ""
	if !l.Local {
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

func shippedLinks() ([]Link, error) {
	entries, err := os.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var links []Link
	for _, entry := range entries {
		name := entry.Name()
		if checksum := strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".crc"); checksum || slices.Contains(unlinkedFiles, name) {
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
