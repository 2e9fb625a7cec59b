package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tasksDirectory is the name of the directory, in a container's working directory, that
// contains the working directories of the tasks.
const tasksDirectory = ".bobbin-tasks"

// PlanFile is the name of the localized file from which the driver reads its plan: the steps of
// the job and the commands that their tasks run (command.Plan).
const PlanFile = "bobbin-plan.json"

// unlinkedFiles are files in a container's working directory that belong to the NodeManager or
// to bobbin. Links to them are not created in tasks' directories.
var unlinkedFiles = []string{"container_tokens", "launch_container.sh", "default_container_executor.sh",
	"default_container_executor_session.sh", "tmp", tasksDirectory, PlanFile}

// Link is a symbolic link in a task's directory to a local file or directory.
type Link struct {
	Name string `json:"name"`
	Path string `json:"path"` // absolute
}

// Links defines which symbolic links are created in tasks' working directories.
type Links struct {
	// Local is true if tasks run on the submitter's machine. Directory then creates the links
	// in List. Otherwise it creates a link to each file that the NodeManager has localized.
	Local bool   `json:"local,omitempty"`
	List  []Link `json:"links,omitempty"`
}

// Directory creates the working directory of one task attempt. The directory's name begins with
// name. remove deletes the directory. On YARN, the NodeManager also deletes it, with the
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
