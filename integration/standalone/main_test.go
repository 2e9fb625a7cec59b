//go:build integration

// Package standalone runs a standalone cluster as processes of this machine:
// masters, workers, drivers and executors, of which some are killed, paused or
// lied to, and looks at what becomes of the applications.
//
// A real etcd is needed (Debian's package etcd-server). With BOBBIN_TEST_RACE=1
// all of the processes look for data races.
package standalone

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// programs is the directory of the binaries. It is set by TestMain before any
// test runs.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "standalone:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if _, err := exec.LookPath("etcd"); err != nil {
		return 0, fmt.Errorf("install Debian's package etcd-server: %w", err)
	}
	if programs, err = os.MkdirTemp("", "bobbin-standalone-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	const module = "github.com/bobbin-yarn/bobbin/"
	arguments, environ := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", programs + "/"}, append(os.Environ(), "CGO_ENABLED=0")
	if os.Getenv("BOBBIN_TEST_RACE") == "1" {
		arguments, environ = []string{"build", "-race", "-o", programs + "/"}, os.Environ()
	}
	build := exec.Command("go", append(arguments,
		module+"cmd/yarn-submit", module+"integration/programs/census", module+"integration/programs/tally", module+"integration/programs/trouble")...)
	build.Env = environ
	if output, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building the programs: %w\n%s", err, output)
	}
	return m.Run(), nil
}

func program(name string) string { return filepath.Join(programs, name) }
