//go:build integration

// Package masters runs the same programs, as a user does, on every kind of master. Only
// --master and --deploy-mode differ, and the outcomes must be the same.
//
// The environment variable BOBBIN_TEST_MASTERS contains the names of the masters to test,
// separated by commas; the default is all. BOBBIN_TEST_HADOOP_VERSION and BOBBIN_TEST_CLUSTER
// are as in package acceptance.
package masters

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// mastersVariable is the environment variable that selects the masters to test.
const mastersVariable = "BOBBIN_TEST_MASTERS"

const (
	startTimeout = 8 * time.Minute
	stopTimeout  = time.Minute
)

// master is a combination of --master and --deploy-mode on which the tests run.
type master struct {
	name string
	args []string // arguments of `yarn-submit submit`
	// separateExecutors is true if executors are processes, which can be lost, decommissioned
	// or added.
	separateExecutors bool
	// driverInPlace is true if the driver runs in yarn-submit's process.
	driverInPlace bool
	environment   []string
}

// fixture contains what all tests use.
type fixture struct {
	programs string // directory of the built programs
	home     string // home directory of the user who runs the programs
	url      string // URL of the standalone cluster's master
	masters  []master
}

// shared is the fixture that all tests use. TestMain sets it before any test runs.
var shared fixture

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "masters:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	directory, err := os.MkdirTemp("", "bobbin-masters-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	shared.programs, shared.home = filepath.Join(directory, "bin"), filepath.Join(directory, "home")
	if err := errors.Join(os.Mkdir(shared.programs, 0o755), os.Mkdir(shared.home, 0o755)); err != nil {
		return 0, err
	}
	if err := build(shared.programs); err != nil {
		return 0, err
	}
	shared.masters = []master{
		{name: "local", args: []string{"--master", "local[*,4]"}, driverInPlace: true},
		{name: "local-cluster", args: []string{"--master", "local-cluster[2,2,2048]"}, separateExecutors: true, driverInPlace: true},
	}
	if wanted("standalone") {
		standalone, err := startStandalone(directory)
		defer func() { err = errors.Join(err, standalone.stop()) }()
		if err != nil {
			return 0, err
		}
		shared.url = standalone.url
		shared.masters = append(shared.masters,
			master{name: "standalone-client", args: []string{"--master", shared.url, "--deploy-mode", "client"}, separateExecutors: true, driverInPlace: true},
			master{name: "standalone-cluster", args: []string{"--master", shared.url, "--deploy-mode", "cluster"}, separateExecutors: true})
	}
	if wanted("yarn") {
		hadoop, stop, err := startYARN()
		if err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, stop()) }()
		shared.masters = append(shared.masters, master{
			name: "yarn", args: []string{"--master", "yarn"}, separateExecutors: true, environment: []string{"HADOOP_CONF_DIR=" + hadoop.ConfDir()},
		})
	}
	shared.masters = slices.DeleteFunc(shared.masters, func(m master) bool { return !wanted(m.name) })
	return m.Run(), nil
}

// wanted reports whether BOBBIN_TEST_MASTERS selects the master with the given name. A listed
// name selects the master with this name, and the one named by its part before "-". Except for
// "local", it also selects the masters whose names continue with "-": "standalone" selects
// standalone-client and standalone-cluster.
func wanted(name string) bool {
	names := os.Getenv(mastersVariable)
	if names == "" {
		return true
	}
	return slices.ContainsFunc(strings.Split(names, ","), func(one string) bool {
		return one == name || strings.HasPrefix(one, name+"-") || strings.HasPrefix(name, one+"-") && one != "local"
	})
}

func build(directory string) error {
	const module = "github.com/bobbin-yarn/bobbin/"
	command := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", directory+"/", module+"cmd/yarn-submit", module+"examples/wordcount",
		module+"integration/programs/trouble", module+"integration/programs/operators")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs: %w\n%s", err, output)
	}
	return nil
}

// startYARN starts a Hadoop cluster, or attaches to the one in BOBBIN_TEST_CLUSTER. stop stops
// a cluster that startYARN has started.
func startYARN() (hadoop *cluster.Cluster, stop func() error, err error) {
	starting, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if directory := os.Getenv("BOBBIN_TEST_CLUSTER"); directory != "" {
		if hadoop, err = cluster.Attach(directory); err == nil {
			err = hadoop.WaitReady(starting)
		}
		return hadoop, func() error { return nil }, err
	}
	if hadoop, err = cluster.Start(starting, cluster.Options{HadoopVersion: os.Getenv("BOBBIN_TEST_HADOOP_VERSION")}); err != nil {
		return nil, nil, err
	}
	return hadoop, func() error {
		stopping, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		return hadoop.Stop(stopping)
	}, nil
}

// program returns the path of the built program with the given name.
func program(name string) string { return filepath.Join(shared.programs, name) }
