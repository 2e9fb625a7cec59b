package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// DefaultHadoopVersion is the default of Options.HadoopVersion.
const DefaultHadoopVersion = "3.4.3"

//go:embed pom.xml
var pom []byte

const mavenAdvice = "install Maven 3.6 or newer (Debian, Ubuntu: apt-get install maven; Fedora: dnf install maven)"

var hadoopVersionForm = regexp.MustCompile(`^\d+\.\d+\.\d+[A-Za-z0-9.-]*$`)

// hadoop is a Hadoop release whose jars are on this machine.
type hadoop struct {
	version   string
	classPath []string // paths of the jars, in Maven's order
	cacheDir  string   // directory for cached results of Maven for this release and pom.xml
}

// Jars returns the paths of a Hadoop release's jars, in the order of the class path. Maven
// downloads jars that are not on this machine.
func Jars(ctx context.Context, version string, logger *slog.Logger) ([]string, error) {
	return JarsOf(ctx, pom, version, logger)
}

// JarsOf returns the paths of the jars of the dependencies in pom, the content of a pom.xml,
// for the given value of the property hadoop.version. Jars does the same for this package's
// pom.xml.
func JarsOf(ctx context.Context, pom []byte, version string, logger *slog.Logger) ([]string, error) {
	h, err := resolve(ctx, pom, version, logger)
	return h.classPath, err
}

// findHadoop returns the Hadoop release with the given version. Maven downloads jars that are
// not on this machine.
func findHadoop(ctx context.Context, version string, logger *slog.Logger) (hadoop, error) {
	return resolve(ctx, pom, version, logger)
}

// resolve resolves the dependencies in a pom.xml with Maven. It caches the resulting class path
// in the user's cache directory, because Maven needs seconds.
func resolve(ctx context.Context, pom []byte, version string, logger *slog.Logger) (hadoop, error) {
	if !hadoopVersionForm.MatchString(version) {
		return hadoop{}, fmt.Errorf("%q is no Hadoop version: it must look like %s", version, DefaultHadoopVersion)
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return hadoop{}, errors.New("no Maven: no mvn command on the PATH: " + mavenAdvice)
	}
	dir, err := cacheDir(pom, version)
	if err != nil {
		return hadoop{}, err
	}
	// Maven's local repository does not support concurrent downloads, but go test runs the
	// tests of several packages at the same time.
	unlock, err := lockWait(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return hadoop{}, err
	}
	defer unlock()

	h := hadoop{version: version, cacheDir: dir}
	file := filepath.Join(dir, "classpath")
	if h.classPath = readClassPath(file); h.classPath != nil {
		return h, nil
	}
	logger.Info("resolving Hadoop's jars with Maven; the first time it downloads about 90 MB", "version", version)
	pomFile := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pomFile, pom, 0o644); err != nil {
		return hadoop{}, err
	}
	cmd := exec.CommandContext(ctx, mvn, "--batch-mode", "--quiet", "--file", pomFile, "-Dhadoop.version="+version,
		"dependency:build-classpath", "-Dmdep.outputFile="+file)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return hadoop{}, fmt.Errorf("maven could not resolve Hadoop %s (command %s): %w\n%s",
			version, strings.Join(cmd.Args, " "), err, lastLines(output, 15))
	}
	if h.classPath = readClassPath(file); h.classPath == nil {
		return hadoop{}, fmt.Errorf("maven named no class path, or jars that are not there, in %s:\n%s", file, lastLines(output, 15))
	}
	return h, nil
}

// cacheDir creates and returns the cache directory for a pom.xml and a Hadoop release. Its name
// contains a hash of pom, so that a change of the pom.xml invalidates the cache.
func cacheDir(pom []byte, version string) (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		// The user may have no home directory, for example in a container.
		base = filepath.Join(os.TempDir(), fmt.Sprintf("bobbin-cache-%d", os.Getuid()))
	}
	sum := sha256.Sum256(pom)
	dir := filepath.Join(base, "bobbin", fmt.Sprintf("hadoop-%s-%x", version, sum[:6]))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, nil
}

// readClassPath returns the jars in a cached class path. It returns nil if the file or one of
// the jars does not exist.
func readClassPath(file string) []string {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	jars := strings.Split(string(bytes.TrimSpace(content)), string(os.PathListSeparator))
	for _, jar := range jars {
		if _, err := os.Stat(jar); err != nil {
			return nil
		}
	}
	return jars
}
