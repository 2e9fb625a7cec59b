package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// A worker's directory contains the cache, and a directory for each application and driver. In
// an application's directory, the subdirectory "shuffle" has the map outputs that the worker
// serves. Each executor, and each launch of a driver, has a subdirectory with
//
//	work   its working directory
//	tmp    its temporary files, which are removed when it ends
//	logs   its output
//	secret its credentials, which are removed when it ends
const (
	workPart   = "work"
	tmpPart    = "tmp"
	logsPart   = "logs"
	secretPart = "secret"

	cacheName   = "cache"
	lockName    = "lock"
	shuffleName = "shuffle"
)

// processDirectory is the directory of one executor or one launch of a driver.
type processDirectory string

func (d processDirectory) part(name string) string { return filepath.Join(string(d), name) }

// prepare creates the directory, and removes the files of an earlier process with the same
// name. If again is set, it does not remove the logs.
func (d processDirectory) prepare(again bool) error {
	old := []string{d.part(workPart), d.part(tmpPart), d.part(secretPart)}
	if !again {
		old = append(old, d.part(logsPart))
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("make room for a process's directory: %w", err)
		}
	}
	for _, part := range []struct {
		name string
		mode os.FileMode
	}{{workPart, 0o755}, {tmpPart, 0o700}, {logsPart, 0o755}, {secretPart, 0o700}} {
		if err := os.MkdirAll(d.part(part.name), part.mode); err != nil {
			return fmt.Errorf("make a process's directory: %w", err)
		}
	}
	return nil
}

// removeTemporary removes the temporary files and the credentials after the process has ended.
func (d processDirectory) removeTemporary() error {
	return errors.Join(os.RemoveAll(d.part(secretPart)), os.RemoveAll(d.part(tmpPart)))
}

// removeWorkDirectories removes all files of an application except its logs.
func removeWorkDirectories(application string) error {
	entries, err := os.ReadDir(application)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("clean up after an application: %w", err)
	}
	problems := []error{os.RemoveAll(filepath.Join(application, shuffleName))}
	for _, entry := range entries {
		if entry.IsDir() {
			problems = append(problems, os.RemoveAll(processDirectory(filepath.Join(application, entry.Name())).part(workPart)))
		}
	}
	return errors.Join(problems...)
}

// plainName is the form of ids that are used as names of directories.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func checkID(id string) error {
	if !plainName.MatchString(id) || id == cacheName || id == lockName {
		return fmt.Errorf("id %q: want letters, digits, '.', '_' and '-', at most 128", id)
	}
	return nil
}

// workDirectory is a worker's directory. The worker has locked it.
type workDirectory struct {
	path string
	lock *os.File
}

// defaultDirectories is the number of directories in the user's home that are tried if
// worker.dir is not set.
const defaultDirectories = 64

// errTaken means that another worker has locked the directory.
var errTaken = errors.New("another running worker uses this directory")

// lockDirectory creates and locks the directory at path or, if path is "", the first
// directory in the user's home that is not locked.
func lockDirectory(path string) (*workDirectory, error) {
	if path != "" {
		directory, err := lockAt(path)
		if errors.Is(err, errTaken) {
			return nil, fmt.Errorf("%s=%s: %w: give each a directory of its own", config.WorkerDir.Name(), path, err)
		}
		return directory, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find a directory to work in: %w: set %s", err, config.WorkerDir.Name())
	}
	base := filepath.Join(home, ".bobbin", "worker")
	for number := range defaultDirectories {
		path := base
		if number > 0 {
			path = fmt.Sprintf("%s-%d", base, number+1)
		}
		if directory, err := lockAt(path); !errors.Is(err, errTaken) {
			return directory, err
		}
	}
	return nil, fmt.Errorf("%s and %d more like it belong to other workers: set %s", base, defaultDirectories-1, config.WorkerDir.Name())
}

func lockAt(path string) (*workDirectory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("the directory to work in: %w", err)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, fmt.Errorf("the directory to work in: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the directory to work in: %w", err)
	}
	if err := lockFile(lock); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &workDirectory{path: path, lock: lock}, nil
}

// release unlocks the directory.
func (d *workDirectory) release() error { return d.lock.Close() }

// join returns the directory of an application or a driver.
func (d *workDirectory) join(owner string) string { return filepath.Join(d.path, owner) }

// processDirectory returns the directory of one process of owner: an executor of an application,
// or one launch of a driver, which may be launched several times.
func (d *workDirectory) processDirectory(owner, process string) processDirectory {
	return processDirectory(filepath.Join(d.path, owner, process))
}

// owners returns the ids of the applications and drivers that have a directory.
func (d *workDirectory) owners() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var owners []string
	for _, entry := range entries {
		if entry.IsDir() && checkID(entry.Name()) == nil {
			owners = append(owners, entry.Name())
		}
	}
	return owners, nil
}

// checkFileName returns an error unless name is a relative path of a file inside the working
// directory.
func checkFileName(name string) error {
	if !filepath.IsLocal(name) || name == "." || slices.Contains(strings.Split(filepath.ToSlash(name), "/"), "") {
		return fmt.Errorf("file name %q: want one in the working directory", name)
	}
	return nil
}

// lockFile locks a file. The lock is released when the file is closed. lockFile fails with
// errTaken if another process has locked the file.
func lockFile(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errTaken
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return nil
}
