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
// of reading, verifying and linking the classes (Java's class data sharing). This saves more
// than a third of the CPU time of a cluster's start. JVMs ignore an archive that was created
// with another Java or other jars.
//
// If no archive exists, each daemon of a cluster writes a list of the classes that it loads.
// When the cluster stops, create creates the archive from these lists, for later clusters.
type classArchive struct {
	path      string // path of the archive, in the user's cache directory
	lists     string // directory of the daemons' class lists; "" if the archive exists
	java      string
	classPath []string
}

// archiveTimeout limits the time for creating the archive. On an idle machine, this takes ten
// seconds.
const archiveTimeout = 5 * time.Minute

// newClassArchive returns the archive of a Hadoop release. It returns nil if the release is not
// the default one: creating an archive takes longer than starting a cluster, so it pays off only
// for a release that is used often.
func newClassArchive(java java, hadoop hadoop, lists string) (*classArchive, error) {
	if hadoop.version != DefaultHadoopVersion {
		return nil, nil
	}
	a := &classArchive{java: java.path, classPath: hadoop.classPath}
	// The archive's name contains a hash of the Java release and the jars, because JVMs accept
	// an archive only if it was created with the same Java and the same jars.
	hash := sha256.New()
	_, _ = io.WriteString(hash, java.build)
	for _, jar := range a.classPath {
		info, err := os.Stat(jar)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintln(hash, jar, info.Size(), info.ModTime().UnixNano())
	}
	a.path = filepath.Join(hadoop.cacheDir, fmt.Sprintf("classes-%x.jsa", hash.Sum(nil)[:6]))
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

// options returns JVM options for a daemon. With these options, the JVM uses the archive or, if
// no archive exists, lists the classes that it loads.
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

// create creates the archive from the lists of classes. The daemons must have ended. create
// does nothing if the archive exists or another process is creating it.
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

// merge writes the lines of all lists, each only once, to one file. The parameter "to" is the
// file's path.
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
			if strings.HasSuffix(line, "\n") && !seen[line] { // the last line of a killed daemon may be incomplete
				seen[line] = true
				all.WriteString(line)
			}
		}
	}
	return os.WriteFile(to, all.Bytes(), 0o644)
}
