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

// Installation is a directory with packages from PyPI, and the interpreter for them.
type Installation struct {
	Dir    string // holds the packages, for PYTHONPATH
	Python string // path of the interpreter
}

// Find returns the installation with a name below the user's cache directory. If there is
// none, it installs requirements, such as "pyspark==4.3.0", with pip. The name must say which
// packages and versions it has, because an installation that exists is not changed.
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

// install installs packages with pip into a temporary directory. When that is complete, it renames
// the directory to i.Dir.
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

// Command returns the command that runs Python with arguments and the installation's packages. Its
// environment has no variables for another installation of Python or Spark.
func (i *Installation) Command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, i.Python, args...)
	command.Env = append(Environ(), "PYTHONPATH="+i.Dir, "PYTHONDONTWRITEBYTECODE=1")
	return command
}

// Environ returns the environment of this process without variables for installations of
// Python or Spark.
func Environ() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "SPARK_") || strings.HasPrefix(variable, "PYSPARK_") || strings.HasPrefix(variable, "PYTHON")
	})
}
