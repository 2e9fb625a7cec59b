//go:build integration

// Package standalone runs a standalone cluster as processes on this machine. It kills and
// pauses masters, workers, drivers and executors, and checks the outcome of applications.
//
// The tests need a real etcd (Debian's package etcd-server), and root to mount a small file
// system. If the environment variable BOBBIN_TEST_RACE is 1, all programs are built with the
// race detector.
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

// programs is the directory of the built programs. TestMain sets it before any test runs.
var programs string

func TestMain(m *testing.M) {
	// Run four tests at a time, because tests spend most of their time waiting for timeouts.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
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
		arguments, environ = []string{"build", "-race", "-o", programs + "/"}, append(os.Environ(), "CGO_ENABLED=1")
	}
	build := exec.Command("go", append(arguments,
		module+"cmd/yarn-submit", module+"integration/programs/census", module+"integration/programs/dataflow", module+"integration/programs/durable", module+"integration/programs/leaving", module+"integration/programs/spread", module+"integration/programs/tally", module+"integration/programs/trouble")...)
	build.Env = environ
	if output, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building the programs: %w\n%s", err, output)
	}
	return m.Run(), nil
}

func program(name string) string { return filepath.Join(programs, name) }
