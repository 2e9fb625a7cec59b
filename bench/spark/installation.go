// Package spark installs and runs Spark, for benchmarks and tests that compare bobbin with it.
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

// Version is the release of Spark with which benchmarks compare bobbin.
const Version = "4.3.0"

// Installation is an installation of Spark from its Python package, pyspark.
type Installation struct {
	packages *python.Installation
	javaHome string
}

// Find returns the installation of Spark in the user's cache directory. If Spark is not
// installed there, Find installs it, which downloads 450 MB.
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

// Jars returns the directory with Spark's jars and their dependencies.
func (p *Installation) Jars() string { return filepath.Join(p.packages.Dir, "pyspark", "jars") }

// Command returns a command that runs a PySpark program on this machine. scratch is the working
// directory and the directory for temporary files.
func (p *Installation) Command(ctx context.Context, scratch string, args ...string) *exec.Cmd {
	command := p.packages.Command(ctx, args...)
	command.Dir = scratch
	command.Env = append(command.Env, "PYSPARK_PYTHON="+p.packages.Python, "JAVA_HOME="+p.javaHome,
		"SPARK_LOCAL_IP=127.0.0.1", "SPARK_LOCAL_DIRS="+scratch)
	// Python starts the driver's JVM. Signals to the process group end both.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	return command
}

// findJavaHome returns JAVA_HOME or, if that is not set, the home of the java command on the
// PATH.
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
