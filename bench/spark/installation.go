// Package spark runs PySpark programs on a cluster, for benchmarks to compare with.
package spark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/bobbin-yarn/bobbin/integration/python"
)

// Version is the release of Spark to compare with.
const Version = "4.3.0"

// Installation is an installation of Spark from its Python package.
type Installation struct {
	packages *python.Installation
	javaHome string
}

// Find returns the installation of Spark below the user's cache directory, which it
// makes if necessary: a download of 450 MB.
func Find(ctx context.Context) (*Installation, error) {
	javaHome, err := findJavaHome()
	if err != nil {
		return nil, err
	}
	packages, err := python.Find(ctx, "pyspark-"+Version, "pyspark=="+Version)
	if err != nil {
		return nil, fmt.Errorf("no Spark: %w; or leave it out with -spark=false", err)
	}
	return &Installation{packages, javaHome}, nil
}

// Jars returns the directory with Spark's jars and those that it depends on.
func (p *Installation) Jars() string { return filepath.Join(p.packages.Dir, "pyspark", "jars") }

// Command returns the command that runs a PySpark program on this machine. It keeps temporary
// files in scratch.
func (p *Installation) Command(ctx context.Context, scratch string, args ...string) *exec.Cmd {
	command := p.packages.Command(ctx, args...)
	command.Dir = scratch
	command.Env = append(command.Env, "PYSPARK_PYTHON="+p.packages.Python, "JAVA_HOME="+p.javaHome,
		"SPARK_LOCAL_IP=127.0.0.1", "SPARK_LOCAL_DIRS="+scratch)
	// Signals to the process group end Python and the driver's JVM, which Python starts.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	return command
}

// findJavaHome returns JAVA_HOME, or the home of the java command on the PATH.
func findJavaHome() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return home, nil
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", errors.New("no Java: no java command on the PATH and JAVA_HOME is not set (Debian, Ubuntu: apt-get install openjdk-17-jre-headless)")
	}
	if java, err = filepath.EvalSymlinks(java); err != nil {
		return "", err
	}
	return filepath.Dir(filepath.Dir(java)), nil
}
