// Package python runs Python programs that need packages from PyPI, for tests and benchmarks.
package python

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Installation is a directory of installed PyPI packages, and a Python interpreter for them.
type Installation struct {
	Dir    string // directory of the packages, for PYTHONPATH
	Python string // path of the interpreter
}

// Find returns the installation with the given name in the user's cache directory. If the
// installation does not exist, Find installs requirements, such as "pyspark==4.3.0", with pip.
// Find does not change an existing installation, so the name must contain the packages and
// their versions.
func Find(ctx context.Context, name string, requirements ...string) (*Installation, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, errors.New("there is no python3 on the PATH: install it and pip (Debian, Ubuntu: apt-get install python3 python3-pip)")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("nowhere to keep Python packages: %w", err)
	}
	i := &Installation{Dir: filepath.Join(cache, "bobbin", name), Python: python}
	if _, err := os.Stat(i.Dir); err == nil {
		return i, nil
	}
	return i, i.install(ctx, requirements)
}

// install installs packages with pip into a temporary directory and then renames the directory
// to i.Dir, so that i.Dir is always complete.
func (i *Installation) install(ctx context.Context, requirements []string) error {
	if err := exec.CommandContext(ctx, i.Python, "-m", "pip", "--version").Run(); err != nil {
		return fmt.Errorf("no pip for %s, to install %s with (%w): install it (Debian, Ubuntu: apt-get install python3-pip)",
			i.Python, strings.Join(requirements, " "), err)
	}
	fmt.Fprintf(os.Stderr, "installing %s from PyPI into %s, once\n", strings.Join(requirements, " "), i.Dir)
	if err := os.MkdirAll(filepath.Dir(i.Dir), 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(i.Dir), filepath.Base(i.Dir)+".part-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(partial) }()
	pip := exec.CommandContext(ctx, i.Python, append([]string{
		"-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--target", partial,
	}, requirements...)...)
	if output, err := pip.CombinedOutput(); err != nil {
		return fmt.Errorf("pip could not install %s: %w\n%s", strings.Join(requirements, " "), errors.Join(err, context.Cause(ctx)), output)
	}
	return os.Rename(partial, i.Dir)
}

// Command returns a command that runs Python with args and the installation's packages.
// Variables for other installations of Python or Spark are not in its environment.
func (i *Installation) Command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, i.Python, args...)
	command.Env = append(Environ(), "PYTHONPATH="+i.Dir, "PYTHONDONTWRITEBYTECODE=1")
	return command
}

// Environ returns the environment of this process without the variables for installations of
// Python or Spark.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "SPARK_") || strings.HasPrefix(variable, "PYSPARK_") || strings.HasPrefix(variable, "PYTHON")
	})
}
