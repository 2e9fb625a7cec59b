package client

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// input is a file that every container gets.
type input struct {
	path    string // on the local disk, or an hdfs:// URI
	name    string
	size    int64 // bytes; of local files
	remote  bool  // in HDFS already
	archive bool  // unpacked by the NodeManager
}

// archiveSuffixes are those of archives that NodeManagers unpack (FSDownload.java
// of Hadoop 3).
var archiveSuffixes = []string{".zip", ".tar", ".tar.gz", ".tgz", ".jar"}

// reservedNames are files that a NodeManager writes into every container's
// working directory (ContainerLaunch.java and DefaultContainerExecutor.java of
// Hadoop 3).
var reservedNames = []string{
	"launch_container.sh", "container_tokens", "default_container_executor.sh", "default_container_executor_session.sh", "tmp",
}

// inputs returns the program and the files of yarn.files and yarn.archives. It
// checks names and local files.
func inputs(program *Program, files, archives []string) ([]input, error) {
	if err := checkName(program.Name); err != nil {
		return nil, Usagef("the program %s: %w", program.Path, err)
	}
	all := []input{{path: program.Path, name: program.Name, size: program.Size}}
	var problems []error
	for _, entry := range files {
		one, err := newInput(entry, false)
		all, problems = append(all, one), append(problems, err)
	}
	for _, entry := range archives {
		one, err := newInput(entry, true)
		all, problems = append(all, one), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, Usage(err)
	}
	byName := map[string]string{}
	for _, one := range all {
		if other, taken := byName[one.name]; taken {
			return nil, Usagef("both %s and %s would be %s in the containers: rename one with %s#other-name", other, one.path, one.name, one.path)
		}
		byName[one.name] = one.path
	}
	return all, nil
}

// newInput parses one "file" or "file#name" of --files or --archives.
func newInput(entry string, archive bool) (input, error) {
	setting := "--files"
	if archive {
		setting = "--archives"
	}
	where, name, renamed := entry, "", false
	if i := strings.LastIndexByte(entry, '#'); i >= 0 {
		where, name, renamed = entry[:i], entry[i+1:], true
	}
	one := input{path: where, archive: archive}
	scheme, rest, hasScheme := strings.Cut(where, "://")
	switch {
	case hasScheme && scheme == "hdfs":
		one.remote = true
	case hasScheme && scheme == "file":
		one.path = "/" + strings.TrimLeft(rest, "/")
	case hasScheme:
		return input{}, fmt.Errorf("%s %s: want a local file or one in hdfs://", setting, entry)
	}
	if !renamed {
		name = path.Base(filepath.ToSlash(one.path))
	}
	one.name = name
	if err := checkName(name); err != nil {
		return input{}, fmt.Errorf("%s %s: %w", setting, entry, err)
	}
	if archive && !slices.ContainsFunc(archiveSuffixes, func(ending string) bool { return hasSuffixFold(one.path, ending) }) {
		return input{}, fmt.Errorf("%s %s: NodeManagers unpack only %s; ship other files with --files",
			setting, entry, strings.Join(archiveSuffixes, ", "))
	}
	if one.remote {
		return one, nil
	}
	info, err := os.Stat(one.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return input{}, fmt.Errorf("%s %s: there is no such file", setting, entry)
	case err != nil:
		return input{}, fmt.Errorf("%s %s: %w", setting, entry, err)
	case info.IsDir():
		return input{}, fmt.Errorf("%s %s: is a directory; pack it (tar czf %s.tar.gz -C %[2]s .) and ship it with --archives", setting, one.path, name)
	case !info.Mode().IsRegular():
		return input{}, fmt.Errorf("%s %s: is no regular file", setting, entry)
	}
	one.size = info.Size()
	return one, nil
}

func hasSuffixFold(path, ending string) bool { return strings.HasSuffix(strings.ToLower(path), ending) }

// checkName fails if a file cannot have the name in a container's working
// directory.
func checkName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q is no file name", name)
	case strings.ContainsAny(name, "/\\\x00\n\r'\"`$"):
		return fmt.Errorf("%q cannot be a file's name in a container: it must hold no slash, quote, dollar sign or line break", name)
	case slices.Contains(reservedNames, name):
		return fmt.Errorf("%s is a name that YARN itself uses in the containers: rename the file with …#other-name", name)
	}
	return nil
}

// LocalFile is a file of this machine for the working directory of every process
// of an application.
type LocalFile struct {
	Path       string
	Name       string // in the working directory
	Executable bool   // by its owner
	Archive    bool   // unpacked into a directory of the name
}

// LocalFiles returns the files and archives that the settings name, for a cluster
// without a file system of its own. It fails if one is not on this machine or has
// the program's name.
func LocalFiles(program string, settings *config.Config) ([]LocalFile, error) {
	name := filepath.Base(program)
	named, err := inputs(&Program{Path: program, Name: name}, config.Files.In(settings), config.Archives.In(settings))
	if err != nil {
		return nil, err
	}
	var files []LocalFile
	for _, one := range named[1:] {
		if one.remote {
			return nil, Usagef("%s: only files of this machine can be shipped to a standalone cluster; tasks can open it in HDFS", one.path)
		}
		info, err := os.Stat(one.path)
		if err != nil {
			return nil, Usage(err)
		}
		files = append(files, LocalFile{Path: one.path, Name: one.name, Archive: one.archive, Executable: info.Mode()&0o100 != 0})
	}
	return files, nil
}
