package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// minimumJava is the oldest supported Java feature release.
const minimumJava = 17

const javaAdvice = "install a Java runtime of version 17 or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; " +
	"Fedora: dnf install java-17-openjdk-headless), or point JAVA_HOME at one"

// java is the Java runtime of the daemons.
type java struct {
	path    string // path of the java command
	version string // such as "17.0.15"
	feature int    // feature release, such as 17
	build   string // everything that java -version prints
}

// findJava returns the Java runtime in JAVA_HOME or, if JAVA_HOME is not set, on the PATH. It
// fails if the runtime is older than minimumJava.
func findJava(ctx context.Context) (java, error) {
	path, from := "", "the PATH"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		from = "JAVA_HOME " + home
		path = filepath.Join(home, "bin", "java")
		if _, err := os.Stat(path); err != nil {
			return java{}, fmt.Errorf("no Java at %s, which JAVA_HOME names: %s", path, javaAdvice)
		}
	} else {
		found, err := exec.LookPath("java")
		if err != nil {
			return java{}, errors.New("no Java: no java command on the PATH and JAVA_HOME is not set: " + javaAdvice)
		}
		path = found
	}
	output, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return java{}, fmt.Errorf("%s -version: %w: %s", path, err, bytes.TrimSpace(output))
	}
	version, feature, ok := parseJavaVersion(string(output))
	if !ok {
		return java{}, fmt.Errorf("%s -version does not tell its version: %s", path, bytes.TrimSpace(output))
	}
	if feature < minimumJava {
		return java{}, fmt.Errorf("the Java %s of %s is too old: %s", version, from, javaAdvice)
	}
	return java{path: path, version: version, feature: feature, build: string(output)}, nil
}

var javaVersionLine = regexp.MustCompile(`version "((?:1\.)?(\d+)[^"]*)"`)

// parseJavaVersion parses the output of java -version. It also parses versions before 9, such
// as 1.8.
func parseJavaVersion(output string) (version string, feature int, ok bool) {
	match := javaVersionLine.FindStringSubmatch(output)
	if match == nil {
		return "", 0, false
	}
	feature, err := strconv.Atoi(match[2])
	return match[1], feature, err == nil
}
