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
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// localizedFile is a file that NodeManagers localize for containers.
type localizedFile struct {
	path    string // path on the local disk, or an hdfs:// URI
	name    string
	size    int64 // size in bytes; 0 if remote
	remote  bool  // the file is already in HDFS
	archive bool  // the NodeManager unpacks it
	secret  bool  // localized only for the ApplicationMaster, and readable only by the user
}

// archiveSuffixes are the suffixes of archives that NodeManagers unpack (FSDownload.java of
// Hadoop 3).
var archiveSuffixes = []string{".zip", ".tar", ".tar.gz", ".tgz", ".jar"}

// reservedNames are names of files that NodeManagers create in working directories
// (ContainerLaunch.java and DefaultContainerExecutor.java of Hadoop 3).
var reservedNames = []string{
	"launch_container.sh", "container_tokens", "default_container_executor.sh", "default_container_executor_session.sh", "tmp",
}

// localizedFiles returns the program and the entries of yarn.files and yarn.archives. It fails if a
// name is invalid or occurs twice, or if a local file does not exist.
func localizedFiles(program *Program, files, archives []string) ([]localizedFile, error) {
	if err := checkName(program.Name); err != nil {
		return nil, UsageErrorf("the program %s: %w", program.Path, err)
	}
	result := []localizedFile{{path: program.Path, name: program.Name, size: program.Size}}
	var problems []error
	for _, entry := range files {
		file, err := newLocalizedFile(entry, false)
		result, problems = append(result, file), append(problems, err)
	}
	for _, entry := range archives {
		file, err := newLocalizedFile(entry, true)
		result, problems = append(result, file), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, UsageError(err)
	}
	byName := map[string]string{}
	for _, file := range result {
		if other, taken := byName[file.name]; taken {
			return nil, UsageErrorf("both %s and %s would be %s in the containers: rename one with %s#other-name", other, file.path, file.name, file.path)
		}
		byName[file.name] = file.path
	}
	return result, nil
}

// newLocalizedFile parses an entry "file" or "file#name" of --files or --archives.
func newLocalizedFile(entry string, archive bool) (localizedFile, error) {
	setting := "--files"
	if archive {
		setting = "--archives"
	}
	location, name, renamed := entry, "", false
	if i := strings.LastIndexByte(entry, '#'); i >= 0 {
		location, name, renamed = entry[:i], entry[i+1:], true
	}
	file := localizedFile{path: location, archive: archive}
	scheme, rest, hasScheme := strings.Cut(location, "://")
	switch {
	case hasScheme && scheme == "hdfs":
		file.remote = true
	case hasScheme && scheme == "file":
		file.path = "/" + strings.TrimLeft(rest, "/")
	case hasScheme:
		return localizedFile{}, fmt.Errorf("%s %s: want a local file or one in hdfs://", setting, entry)
	}
	if !renamed {
		name = path.Base(filepath.ToSlash(file.path))
	}
	file.name = name
	if err := checkName(name); err != nil {
		return localizedFile{}, fmt.Errorf("%s %s: %w", setting, entry, err)
	}
	if archive && !slices.ContainsFunc(archiveSuffixes, func(ending string) bool { return hasSuffixFold(file.path, ending) }) {
		return localizedFile{}, fmt.Errorf("%s %s: NodeManagers unpack only %s; ship other files with --files",
			setting, entry, strings.Join(archiveSuffixes, ", "))
	}
	if file.remote {
		return file, nil
	}
	info, err := os.Stat(file.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return localizedFile{}, fmt.Errorf("%s %s: there is no such file", setting, entry)
	case err != nil:
		return localizedFile{}, fmt.Errorf("%s %s: %w", setting, entry, err)
	case info.IsDir():
		return localizedFile{}, fmt.Errorf("%s %s: is a directory; pack it (tar czf %s.tar.gz -C %[2]s .) and ship it with --archives", setting, file.path, name)
	case !info.Mode().IsRegular():
		return localizedFile{}, fmt.Errorf("%s %s: is no regular file", setting, entry)
	}
	file.size = info.Size()
	return file, nil
}

func hasSuffixFold(path, ending string) bool { return strings.HasSuffix(strings.ToLower(path), ending) }

// checkName fails if name cannot be the name of a file in a container's working directory.
func checkName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q is no file name", name)
	case strings.ContainsAny(name, "/\\\x00\n\r'\"`$"):
		return fmt.Errorf("%q cannot be a file's name in a container: it must hold no slash, quote, dollar sign or line break", name)
	case name == launch.KeytabFile:
		return fmt.Errorf("%s is the name of the keytab in the ApplicationMaster's container: rename the file with …#other-name", name)
	case slices.Contains(reservedNames, name):
		return fmt.Errorf("%s is a name that YARN itself uses in the containers: rename the file with …#other-name", name)
	}
	return nil
}

// LocalFile is a file that is copied into the working directory of every process of an application.
type LocalFile struct {
	Path       string
	Name       string // name in the working directory
	Executable bool   // the file's owner may execute it
	Archive    bool   // unpacked into a directory with the name Name
}

// LocalFiles returns the files and archives in the settings, for a cluster without a shared file
// system. It fails if a file is not on this machine, or has the same name as the program.
func LocalFiles(program string, settings *config.Config) ([]LocalFile, error) {
	name := filepath.Base(program)
	named, err := localizedFiles(&Program{Path: program, Name: name}, config.Files.In(settings), config.Archives.In(settings))
	if err != nil {
		return nil, err
	}
	var files []LocalFile
	for _, file := range named[1:] {
		if file.remote {
			return nil, UsageErrorf("%s: only files of this machine can be shipped to a standalone cluster; tasks can open it in HDFS", file.path)
		}
		info, err := os.Stat(file.path)
		if err != nil {
			return nil, UsageError(err)
		}
		files = append(files, LocalFile{Path: file.path, Name: file.name, Archive: file.archive, Executable: info.Mode()&0o100 != 0})
	}
	return files, nil
}
