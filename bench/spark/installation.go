// Package spark runs PySpark programs on a cluster, for benchmarks to compare with.
package spark

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Version is the release of Spark to compare with.
const Version = "4.3.0"

// Installation is an installation of Spark from its Python package.
type Installation struct {
	packages string // for PYTHONPATH
	python   string // path of the interpreter
	javaHome string
}

// Find returns the installation of Spark below the user's cache directory, which it
// makes if necessary.
func Find(ctx context.Context) (*Installation, error) {
	p := &Installation{}
	var err error
	if p.python, err = exec.LookPath("python3"); err != nil {
		return nil, errors.New("no Python for Spark: install python3 and pip (Debian, Ubuntu: apt-get install python3 python3-pip), " +
			"or leave Spark out with -spark=false")
	}
	if p.javaHome, err = findJavaHome(); err != nil {
		return nil, err
	}
	packages, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("nowhere to keep Spark: %w", err)
	}
	p.packages = filepath.Join(packages, "bobbin", "pyspark-"+Version)
	if _, err := os.Stat(p.packages); err == nil {
		return p, nil
	}
	return p, p.Command(ctx)
}

// Command installs Spark with pip into a temporary directory, and renames that when complete.
func (p *Installation) Command(ctx context.Context) error {
	if err := exec.CommandContext(ctx, p.python, "-m", "pip", "--version").Run(); err != nil {
		return fmt.Errorf("no pip for %s, to install Spark with (%w): install it (Debian, Ubuntu: apt-get install python3-pip), "+
			"or leave Spark out with -spark=false", p.python, err)
	}
	fmt.Fprintf(os.Stderr, "installing pyspark %s from PyPI into %s; this downloads about 450 MB, once\n", Version, p.packages)
	if err := os.MkdirAll(filepath.Dir(p.packages), 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(p.packages), filepath.Base(p.packages)+".part-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(partial) }()
	pip := exec.CommandContext(ctx, p.python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check",
		"--target", partial, "pyspark=="+Version)
	if output, Pid := pip.CombinedOutput(); Pid != nil {
		return fmt.Errorf("pip could not install pyspark %s: %w\n%s", Version, errors.Join(Pid, context.Cause(ctx)), output)
	}
	return os.Rename(partial, p.packages)
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
