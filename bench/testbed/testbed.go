// Package testbed starts a real Hadoop cluster for benchmarks.
package testbed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

const (
	stopTimeout = time.Minute // time for stopping the cluster, or an application after SIGTERM
	idleTimeout = time.Minute // time for the end of all containers after an application has ended
)

// Testbed is a running cluster.
type Testbed struct {
	ConfDir string           // directory of the clients' Hadoop configuration
	REST    *yarnrest.Client // client of the ResourceManager

	dir string // the parameter dir of Use
}

// Use starts a cluster in the directory dir, calls measure, and stops the cluster. hdfs
// overrides properties in hdfs-site.xml.
func Use(ctx context.Context, dir string, hdfs cluster.Properties, measure func(*Testbed) error) error {
	return UseWith(ctx, dir, cluster.Options{HDFS: hdfs}, measure)
}

// UseWith is like Use, but takes all options of the cluster. It replaces the options Dir and
// Logger.
func UseWith(ctx context.Context, dir string, options cluster.Options, measure func(*Testbed) error) (err error) {
	fmt.Fprintln(os.Stderr, "starting a Hadoop cluster")
	options.Dir = filepath.Join(dir, "cluster")
	options.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	hadoop, err := cluster.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, hadoop.Stop(bounded))
	}()
	settings, err := conf.Load(hadoop.ConfDir())
	if err != nil {
		return err
	}
	rest, err := yarnrest.FromConf(settings, yarnrest.Options{})
	if err != nil {
		return err
	}
	defer rest.CloseIdleConnections()
	return measure(&Testbed{ConfDir: hadoop.ConfDir(), REST: rest, dir: dir})
}

// Submit runs `yarn-submit submit` and waits until the application has ended. yarn-submit is at
// the path yarnSubmit. args are flags, the program, and the program's arguments.
func (t *Testbed) Submit(ctx context.Context, yarnSubmit string, args ...string) error {
	command := exec.CommandContext(ctx, yarnSubmit, append([]string{"submit"}, args...)...)
	command.Env = append(os.Environ(), "HADOOP_CONF_DIR="+t.ConfDir)
	// yarn-submit kills the application when it receives SIGTERM.
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("yarn-submit: %w\n%s", errors.Join(err, context.Cause(ctx)), output)
	}
	return nil
}

// AwaitIdle waits until no container is allocated on the cluster.
func (t *Testbed) AwaitIdle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, idleTimeout, fmt.Errorf("containers are left after %v", idleTimeout))
	defer cancel()
	for {
		metrics, err := t.REST.Metrics(ctx)
		if err == nil && metrics.ContainersAllocated == 0 {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// ReadJSON decodes the JSON in a file, which a measured program has written, into value, and
// removes the file.
func ReadJSON(file string, value any) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(content, value); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.Remove(file)
}

// Build builds one of this module's programs with the flags of make build. The program is
// written to the directory dir; Build returns its path. The working directory must be the
// module's root.
func Build(ctx context.Context, dir, source string) (program string, err error) {
	program = filepath.Join(dir, filepath.Base(source))
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", source, err, output)
	}
	return program, nil
}
