// Command cluster starts and stops a real Hadoop cluster on this machine for manual tests. The
// cluster has a NameNode, a ResourceManager and two nodes.
//
// Usage, from the module's root:
//
//	go run ./integration/cmd/cluster [-dir DIR] [-hadoop VERSION] [-kerberos [-spnego]] [-timeout DURATION] up|down|status
//
// The command up waits until the cluster is usable, and prints a shell command that configures
// clients: eval "$(go run ./integration/cmd/cluster up)". The cluster runs until the command
// down stops it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	dir := flags.String("dir", ".cluster", "directory of the cluster's configuration, data and logs")
	version := flags.String("hadoop", cluster.DefaultHadoopVersion, "Hadoop release that up runs")
	secure := flags.Bool("kerberos", false, "let up start a secure cluster, with a KDC and the users alice, bob and gateway")
	spnego := flags.Bool("spnego", false, "let the web servers of a secure cluster ask for Kerberos")
	timeout := flags.Duration("timeout", 5*time.Minute, "how long up or down may take; a first up downloads Hadoop's jars")
	verbose := flags.Bool("v", false, "tell of every process")
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "Usage: cluster [flags] up|down|status")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return exitUsage
	}
	commands := map[string]func(context.Context) error{
		"down":   func(ctx context.Context) error { return down(ctx, *dir, stderr) },
		"status": func(context.Context) error { return status(*dir, stdout) },
		"up": func(ctx context.Context) error {
			level := slog.LevelInfo
			if *verbose {
				level = slog.LevelDebug
			}
			logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
			return up(ctx, cluster.Options{Dir: *dir, HadoopVersion: *version, Kerberos: *secure || *spnego, SPNEGO: *spnego,
				ShuffleService: true, Detached: true, Logger: logger}, stdout, stderr)
		},
	}
	command := commands[flags.Arg(0)]
	if command == nil || flags.NArg() != 1 {
		flags.Usage()
		return exitUsage
	}
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if err := command(ctx); err != nil {
		fmt.Fprintln(stderr, "cluster:", err)
		return exitFailed
	}
	return 0
}

func up(ctx context.Context, options cluster.Options, stdout, stderr io.Writer) error {
	begin := time.Now()
	c, err := cluster.Start(ctx, options)
	switch {
	case errors.Is(err, cluster.ErrRunning):
		fmt.Fprintln(stderr, "cluster:", err)
		if c, err = cluster.Attach(options.Dir); err != nil {
			return err
		}
		// If a daemon of the running cluster has ended, WaitReady's error names it.
		if err := c.WaitReady(ctx); err != nil {
			return fmt.Errorf("%w\nrun down, then up again", err)
		}
	case err != nil:
		return err
	default:
		fmt.Fprintf(stderr, "cluster: up after %.1f s; the ResourceManager's pages are at http://%s\n",
			time.Since(begin).Seconds(), c.ResourceManager().Address(cluster.HTTP))
	}
	fmt.Fprintf(stdout, "export HADOOP_CONF_DIR=%s\n", c.ConfDir())
	if kdc := c.Kerberos(); kdc != nil {
		fmt.Fprintf(stdout, "export KRB5_CONFIG=%s\n", kdc.Config())
		fmt.Fprintf(stdout, "export KRB5CCNAME=FILE:%s\n", filepath.Join(filepath.Dir(c.ConfDir()), "tickets"))
		fmt.Fprintf(stderr, "cluster: log in with kinit, password %s, or with a keytab; %s may act for %s\n", cluster.Password, cluster.Gateway, cluster.Alice)
		for _, user := range []string{cluster.Alice, cluster.Bob, cluster.Gateway} {
			fmt.Fprintf(stderr, "cluster: %s has the keytab %s\n", user, c.Keytab(user))
		}
	}
	return nil
}

func down(ctx context.Context, dir string, stderr io.Writer) error {
	c, err := cluster.Attach(dir)
	if errors.Is(err, cluster.ErrNoCluster) {
		fmt.Fprintln(stderr, "cluster:", err)
		return nil
	}
	if err != nil {
		return err
	}
	if err := c.Stop(ctx); err != nil {
		return err
	}
	fmt.Fprintln(stderr, "cluster: down")
	return nil
}

func status(dir string, stdout io.Writer) error {
	c, err := cluster.Attach(dir)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DAEMON\tPID\tRPC\tHTTP\tLOG")
	ended := 0
	for _, daemon := range c.Daemons() {
		pid := "ended"
		if p := daemon.PID(); p != 0 {
			pid = fmt.Sprint(p)
		} else {
			ended++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", daemon.Name(), pid, daemon.Address(cluster.RPC), daemon.Address(cluster.HTTP), daemon.LogFile())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if ended > 0 {
		return fmt.Errorf("%d daemons have ended", ended)
	}
	return nil
}
