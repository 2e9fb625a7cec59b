//go:build integration

// Package faults makes hosts of a Hadoop cluster fail while a job runs. The job must end with
// the correct counts or with a useful error.
//
// The cluster runs in Docker containers. The tests need Docker, the image that make
// docker-image builds, Linux and root.
package faults

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/containers"
	"github.com/bobbin-yarn/bobbin/integration/text"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// suite contains what all tests use.
type suite struct {
	cluster  *containers.Cluster
	programs string // directory of the built programs
	files    *storage.Files
	rest     *yarnrest.Client
	text     string           // path of a text in HDFS
	want     map[string]int64 // expected counts of the text's words
}

// shared is the suite that all tests use. TestMain sets it before any test runs.
var shared *suite

// smallDisk is the worker with an in-memory disk of smallDiskBytes, which tests fill.
const (
	smallDisk      = "worker-3"
	smallDiskBytes = 192 << 20
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(containers.RunInside(containers.Options{
		HA:    true,
		Disks: map[string]int64{smallDisk: smallDiskBytes},
		Properties: map[string]string{
			// Expire lost nodes within seconds instead of ten minutes.
			"yarn.nm.liveness-monitor.expiry-interval-ms": "8000",
			// This is longer than the timeout of a connection to a killed host.
			"yarn.am.liveness-monitor.expiry-interval-ms":      "60000",
			"yarn.nodemanager.disk-health-checker.interval-ms": "1000",
			// The time for which a stopping NodeManager waits for its containers to end.
			"yarn.nodemanager.process-kill-wait.ms":                             "1000",
			"dfs.heartbeat.interval":                                            "1",
			"dfs.namenode.heartbeat.recheck-interval":                           "3000",
			"yarn.nodemanager.log-aggregation.roll-monitoring-interval-seconds": "-1",
			"yarn.nodemanager.remote-app-log-dir-suffix":                        "logs",
			"yarn.log-aggregation.file-formats":                                 "TFile,IFile",
			"yarn.log-aggregation.file-controller.TFile.class":                  "org.apache.hadoop.yarn.logaggregation.filecontroller.tfile.LogAggregationTFileController",
			"yarn.log-aggregation.file-controller.IFile.class":                  "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController",
		},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}, func(cluster *containers.Cluster) int {
		code, err := run(m, cluster)
		if err != nil {
			fmt.Fprintln(os.Stderr, "faults:", err)
			return 1
		}
		return code
	}))
}

func run(m *testing.M, cluster *containers.Cluster) (code int, err error) {
	shared = &suite{cluster: cluster, text: "hdfs:///faults/text"}
	if shared.programs, err = os.MkdirTemp("", "bobbin-faults-"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(shared.programs)) }()
	const module = "github.com/bobbin-yarn/bobbin/"
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", shared.programs+"/",
		module+"cmd/yarn-submit", module+"integration/programs/census")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("building the programs: %w\n%s", err, output)
	}
	settings, err := conf.Load(cluster.ConfDir())
	if err != nil {
		return 0, err
	}
	if shared.rest, err = yarnrest.FromConf(settings, yarnrest.Options{User: "root"}); err != nil {
		return 0, err
	}
	shared.files = storage.New(storage.Options{Hadoop: settings})
	defer func() { err = errors.Join(err, shared.files.Close()) }()
	if err := shared.putText(); err != nil {
		return 0, err
	}
	return m.Run(), nil
}

// textBytes is the size of a text that census splits into countingTasks tasks, in bytes.
const textBytes = countingTasks * 256 << 10

func (s *suite) putText() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var sources bytes.Buffer
	if _, err := text.WriteGoSources(ctx, &sources, textBytes); err != nil {
		return err
	}
	sources.Truncate(textBytes)
	s.want = text.Count(sources.Bytes())
	return s.put(ctx, s.text, sources.Bytes())
}

func (s *suite) put(ctx context.Context, path string, content []byte) error {
	file, err := s.files.Create(ctx, path)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}

func (s *suite) program(name string) string { return filepath.Join(s.programs, name) }
