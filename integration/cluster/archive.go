package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// classArchive is a file with the classes of the daemons. JVMs map the file into memory instead
// of reading, verifying and linking the classes (Java's class data sharing). This saves more than
// a third of the CPU time of a cluster's start. JVMs ignore an archive that was made with another
// Java or other jars.
//
// The first cluster has no archive. Its daemons list the classes that they load, and
// when the cluster stops, create makes the archive from these lists.
type classArchive struct {
	path      string // in the user's cache directory
	lists     string // directory of the daemons' lists; "" if the archive exists
	java      string
	classPath []string
}

// archiveTimeout limits how long making the archive may take. On an idle machine, it takes ten
// seconds.
const archiveTimeout = 5 * time.Minute

// newClassArchive returns the archive of a Hadoop release. It returns nil if the release is not
// the default one: making an archive takes longer than a cluster's start, so it is not worth it
// for releases that are used rarely.
func newClassArchive(java java, hadoop hadoop, lists string) (*classArchive, error) {
	if hadoop.version != DefaultHadoopVersion {
		return nil, nil
	}
	a := &classArchive{java: java.path, classPath: hadoop.classPath}
	// JVMs accept an archive only if it was made with the same Java and the same jars.
	made := sha256.New()
	_, _ = io.WriteString(made, java.build)
	for _, jar := range a.classPath {
		info, err := os.Stat(jar)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintln(made, jar, info.Size(), info.ModTime().UnixNano())
	}
	a.path = filepath.Join(hadoop.cacheDir, fmt.Sprintf("classes-%x.jsa", made.Sum(nil)[:6]))
	if a.exists() {
		return a, nil
	}
	a.lists = lists
	return a, os.MkdirAll(lists, 0o755)
}

func (a *classArchive) exists() bool {
	_, err := os.Stat(a.path)
	return err == nil
}

// options returns the options with which a daemon's JVM uses the archive or, if there is no
// archive yet, lists its classes.
func (a *classArchive) options(daemon string) []string {
	switch {
	case a == nil:
		return nil
	case a.lists == "":
		return []string{"-XX:SharedArchiveFile=" + a.path}
	default:
		return []string{"-XX:DumpLoadedClassList=" + filepath.Join(a.lists, daemon)}
	}
}

// create makes the archive from the lists of classes. The daemons must have ended. It does
// nothing if the archive exists or another process is making it.
func (a *classArchive) create(ctx context.Context) error {
	if a == nil || a.lists == "" {
		return nil
	}
	unlock, err := tryLock(a.path + ".lock")
	if errors.Is(err, errLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	if a.exists() {
		return nil
	}
	list := filepath.Join(a.lists, "all")
	if err := a.merge(list); err != nil {
		return err
	}
	fresh := a.path + ".new"
	command := exec.CommandContext(ctx, a.java, "-Xshare:dump", "-XX:+UseSerialGC", "-XX:SharedClassListFile="+list,
		"-XX:SharedArchiveFile="+fresh, "-cp", strings.Join(a.classPath, ":"))
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("making an archive of Hadoop's classes: %w\n%s", err, lastLines(output, 10))
	}
	return os.Rename(fresh, a.path)
}

// merge writes the lines of all lists to the file to, each line once.
func (a *classArchive) merge(to string) error {
	names, err := filepath.Glob(filepath.Join(a.lists, "*"))
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	var all bytes.Buffer
	for _, name := range slices.Sorted(slices.Values(names)) {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(content)) {
			if strings.HasSuffix(line, "\n") && !seen[line] { // a killed daemon's last line may be cut off
				seen[line] = true
				all.WriteString(line)
			}
		}
	}
	return os.WriteFile(to, all.Bytes(), 0o644)
}
