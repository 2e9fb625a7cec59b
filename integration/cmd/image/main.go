// Command image builds the Hadoop image from docker/Dockerfile and the jars that Maven
// downloads. It must run in the module's root; make docker-image runs it.
//
// The flag -base is the name of the base image. By default, the command uses the public Debian
// image or the image that docker/base.sh builds with debootstrap, whichever is on this machine.
// If neither is on this machine, the command pulls the public image or, if that fails, runs
// docker/base.sh.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

const (
	publicBase = "debian:bookworm-slim"
	ownBase    = "bobbin-debian:bookworm"
)

func main() {
	base := flag.String("base", "", "the base image; by default found as described above")
	version := flag.String("hadoop", cluster.DefaultHadoopVersion, "the Hadoop release")
	tag := flag.String("tag", "bobbin-hadoop", "the image's name")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := build(ctx, *base, *version, *tag); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func build(ctx context.Context, base, version, tag string) (err error) {
	if base == "" {
		if base, err = findBase(ctx); err != nil {
			return err
		}
	}
	jars, err := cluster.Jars(ctx, version, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bobbin-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := createBuildContext(ctx, dir, jars); err != nil {
		return err
	}
	// Use the host's network, so that the build can install packages through the host's name
	// servers and proxies.
	return run(ctx, nil, "docker", "build", "--network", "host", "--build-arg", "BASE="+base,
		"--label", "bobbin.hadoop="+version, "--tag", tag, dir)
}

// createBuildContext creates the files in dir that the Dockerfile needs.
func createBuildContext(ctx context.Context, dir string, jars []string) error {
	for _, jar := range jars {
		if err := copyFile(filepath.Join(dir, "lib", filepath.Base(jar)), jar); err != nil {
			return err
		}
	}
	for _, part := range []string{"conf", "webapps"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("docker", part))); err != nil {
			return fmt.Errorf("run this from the module's root: %w", err)
		}
	}
	if err := copyFile(filepath.Join(dir, "Dockerfile"), "docker/Dockerfile"); err != nil {
		return err
	}
	for name, source := range map[string]string{"hadoop-daemon": "./docker/entrypoint", "hadoop-racks": "./docker/racks"} {
		if err := run(ctx, []string{"CGO_ENABLED=0", "GOOS=linux"}, "go", "build", "-trimpath", "-ldflags=-s -w",
			"-o", filepath.Join(dir, name), source); err != nil {
			return err
		}
	}
	return nil
}

// findBase returns the name of the base image that is on this machine: the public image or the
// one that docker/base.sh has built. If neither is on this machine, findBase pulls the public
// image or, if that fails, builds an image with docker/base.sh.
func findBase(ctx context.Context) (string, error) {
	for _, image := range []string{publicBase, ownBase} {
		if exec.CommandContext(ctx, "docker", "image", "inspect", image).Run() == nil {
			return image, nil
		}
	}
	if exec.CommandContext(ctx, "docker", "pull", "--quiet", publicBase).Run() == nil {
		return publicBase, nil
	}
	fmt.Fprintf(os.Stderr, "image: %s cannot be pulled: making a base with debootstrap\n", publicBase)
	return ownBase, run(ctx, nil, "docker/base.sh", ownBase)
}

func run(ctx context.Context, environment []string, name string, arguments ...string) error {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Env = append(os.Environ(), environment...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, arguments[0], err)
	}
	return nil
}

func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
