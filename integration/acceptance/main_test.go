//go:build integration

// Package acceptance runs the programs of this module as a user does, on a real Hadoop cluster.
// It checks their output and what remains on the cluster afterwards.
//
// With the flag -cluster=containers, the cluster that the tests share runs in Docker
// containers, one for each node (package containers). Some tests start clusters of their own,
// always on this machine.
//
// The environment variable BOBBIN_TEST_HADOOP_VERSION chooses the Hadoop release.
// BOBBIN_TEST_SCHEDULER=fair chooses YARN's FairScheduler. BOBBIN_TEST_CLUSTER is the directory
// of a running cluster (make cluster-up): the tests use this cluster instead of starting one,
// and do not stop it.
package acceptance

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/integration/containers"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

const (
	startTimeout = 8 * time.Minute
	stopTimeout  = time.Minute
)

// suite contains the built programs, a cluster, and clients of the cluster.
type suite struct {
	programs string // directory of the built programs
	hadoop   *cluster.Cluster
	files    *storage.Files   // HDFS client of the user who runs the tests
	rest     *yarnrest.Client // client of the ResourceManager
	data     string           // directory in HDFS for files of this test run
	// driverHost is the address at which the cluster reaches a driver in client mode.
	driverHost string
}

// nodePattern matches the host names of the shared cluster's nodes, on this machine or in
// containers.
const nodePattern = `(?:127\.0\.0\.1[12]|worker-[123])`

// shared is the cluster that tests share. TestMain sets it before any test runs.
var shared *suite

func TestMain(m *testing.M) {
	fixture := flag.String("cluster", "local", "where the tests' cluster is: local or containers")
	flag.Parse()
	// The cluster has room for only a few applications, so more parallel tests would only wait.
	if !isSet("test.parallel") {
		if err := flag.Set("test.parallel", "4"); err != nil {
			panic(err)
		}
	}
	switch *fixture {
	case "local":
		os.Exit(exitCode(run(m, "127.0.0.1", sharedCluster)))
	case "containers":
		os.Exit(containers.RunInside(containerOptions(), func(c *containers.Cluster) int {
			return exitCode(run(m, containers.Client, func() (*cluster.Cluster, func() error, error) {
				view, err := c.HadoopCluster(context.Background())
				return view, func() error { return nil }, err
			}))
		}))
	}
	fmt.Fprintf(os.Stderr, "acceptance: -cluster=%s: want local or containers\n", *fixture)
	os.Exit(2)
}

// containerOptions returns options with which the cluster in containers has the same size as
// the cluster on this machine. It sets each address of the ResourceManager separately, because
// some tests replace single addresses.
func containerOptions() containers.Options {
	return containers.Options{Properties: map[string]string{
		"yarn.log-aggregation-enable":            "false",
		"yarn.nodemanager.log.retain-seconds":    "86400",
		"yarn.nodemanager.resource.memory-mb":    "8192",
		"yarn.nodemanager.resource.cpu-vcores":   "8",
		"yarn.resourcemanager.address":           "resourcemanager:8032",
		"yarn.resourcemanager.scheduler.address": "resourcemanager:8030",
		"yarn.resourcemanager.webapp.address":    "resourcemanager:8088",
		"dfs.replication":                        "1",
	}}
}

// exitCode returns code, or prints err and returns 1 if err is not nil.
func exitCode(code int, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		return 1
	}
	return code
}

func isSet(name string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

func run(m *testing.M, driverHost string, start func() (*cluster.Cluster, func() error, error)) (code int, err error) {
	programs, err := os.MkdirTemp("", "bobbin-acceptance-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	built := make(chan error, 1)
	go func() { built <- build(programs) }()
	hadoop, stop, err := start()
	if err = errors.Join(err, <-built); err != nil {
		if stop != nil {
			err = errors.Join(err, stop())
		}
		return 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()

	shared, err = connect(hadoop)
	if err != nil {
		return 0, err
	}
	shared.programs, shared.driverHost = programs, driverHost
	code = m.Run()
	if code == 0 {
		err = shared.leftovers()
	}
	removing, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return code, errors.Join(err, shared.files.RemoveAll(removing, shared.data), shared.files.Close())
}

const module = "github.com/bobbin-yarn/bobbin/"

// build builds the programs into dir with the flags of make build. It builds the program plain
// also for arm64 on Linux and macOS.
func build(dir string) error {
	err := goBuild([]string{"CGO_ENABLED=0"}, "-trimpath", "-ldflags=-s -w", "-o", dir+"/",
		module+"cmd/yarn-submit", module+"examples/wordcount", module+"examples/sort", module+"examples/pi",
		module+"integration/programs/trouble", module+"integration/programs/census", module+"integration/programs/dataflow", module+"integration/programs/formats", module+"integration/programs/plain")
	for _, system := range []string{"linux", "darwin"} {
		err = errors.Join(err, goBuild([]string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=arm64"},
			"-trimpath", "-ldflags=-s -w", "-o", dir+"/plain-"+system+"-arm64", module+"integration/programs/plain"))
	}
	return err
}

func goBuild(environment []string, args ...string) error {
	command := exec.Command("go", append([]string{"build"}, args...)...)
	command.Env = append(os.Environ(), environment...)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building the programs: %w\n%s", err, output)
	}
	return nil
}

// sharedCluster starts the shared cluster, or attaches to the one in BOBBIN_TEST_CLUSTER. stop
// stops a cluster that it has started.
func sharedCluster() (hadoop *cluster.Cluster, stop func() error, err error) {
	dir := os.Getenv("BOBBIN_TEST_CLUSTER")
	if dir == "" {
		options := clusterOptions()
		options.ShuffleService = true
		return startCluster(options)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if hadoop, err = cluster.Attach(dir); err == nil {
		err = hadoop.WaitReady(ctx)
	}
	return hadoop, func() error { return nil }, err
}

// clusterOptions returns the options of a cluster with the release and the scheduler that the
// environment chooses.
func clusterOptions() cluster.Options {
	return cluster.Options{
		HadoopVersion: os.Getenv("BOBBIN_TEST_HADOOP_VERSION"),
		FairScheduler: os.Getenv("BOBBIN_TEST_SCHEDULER") == "fair",
		Logger:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
}

// startCluster starts a cluster and waits until it is usable. If it fails, stop is nil.
func startCluster(options cluster.Options) (hadoop *cluster.Cluster, stop func() error, err error) {
	starting, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if hadoop, err = cluster.Start(starting, options); err != nil {
		return nil, nil, err
	}
	stop = func() error {
		stopping, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		return hadoop.Stop(stopping)
	}
	if options.FairScheduler {
		if err := runFirstApplication(starting, hadoop); err != nil {
			return nil, nil, errors.Join(err, stop())
		}
	}
	return hadoop, stop, nil
}

// runFirstApplication runs an application that does nothing. With a FairScheduler, YARN may
// never start the container of an ApplicationMaster (see lostContainer in package client). This
// is most likely for a cluster's first application, because the ResourceManager is slow while
// it loads classes. So runFirstApplication kills the application if it has not ended after 20
// s.
func runFirstApplication(ctx context.Context, hadoop *cluster.Cluster) error {
	s, err := connect(hadoop)
	if err != nil {
		return err
	}
	defer s.files.Close()
	created, err := s.rest.NewApplication(ctx)
	if err != nil {
		return err
	}
	err = s.rest.SubmitApplication(ctx, &yarnrest.SubmissionContext{
		ID: created.ID, Name: "first", MaxAttempts: 1,
		AM: yarnrest.ContainerSpec{Commands: []string{"true"}}, Resource: yarnrest.Resource{MemoryMB: 128, VCores: 1},
	})
	if err != nil {
		return err
	}
	limit := time.After(20 * time.Second)
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for {
		application, err := s.rest.Application(ctx, created.ID)
		if err != nil || application.State.Ended() {
			return err
		}
		select {
		case <-poll.C:
		case <-limit:
			return s.rest.Kill(ctx, created.ID, "it did not start")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// connect returns a suite with clients for a cluster, made from its client configuration.
func connect(hadoop *cluster.Cluster) (*suite, error) {
	settings, err := conf.Load(hadoop.ConfDir())
	if err != nil {
		return nil, err
	}
	current, err := user.Current()
	if err != nil {
		return nil, err
	}
	rest, err := yarnrest.FromConf(settings, yarnrest.Options{User: current.Username})
	if err != nil {
		return nil, err
	}
	return &suite{
		hadoop: hadoop, files: storage.New(storage.Options{Hadoop: settings}), rest: rest,
		data: "hdfs:///acceptance-" + time.Now().Format("20060102-150405"),
	}, nil
}

// program returns the path of the built program with the given name.
func program(name string) string { return filepath.Join(shared.programs, name) }
