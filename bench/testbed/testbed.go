// Package testbed starts a real Hadoop cluster for benchmarks to run on.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// stopTimeout bounds how long the cluster may take to stop.
const stopTimeout = time.Minute

// Testbed is a running cluster.
type Testbed struct {
	ConfDir string           // directory with the Hadoop configuration of its clients
	REST    *yarnrest.Client // client of its ResourceManager
}

// Use starts a cluster in a directory, calls measure, and stops the cluster.
func Use(ctx context.Context, dir string, measure func(*Testbed) error) (err error) {
	fmt.Fprintln(os.Stderr, "starting a Hadoop cluster")
	hadoop, err := cluster.Start(ctx, cluster.Options{
		Dir:    filepath.Join(dir, "cluster"),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
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
	return measure(&Testbed{ConfDir: hadoop.ConfDir(), REST: rest})
}

// Build builds one of this module's programs into a directory, as make build does,
// and returns its path. It must run in the module's root.
func Build(ctx context.Context, dir, source string) (program string, err error) {
	program = filepath.Join(dir, filepath.Base(source))
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", source, err, output)
	}
	return program, nil
}
