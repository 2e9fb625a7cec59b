package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
)

func newStatus(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "status application-id",
		Short: "Show the status of an application",
		Long: `Show the status of an application. With --watch it is shown repeatedly until the
application has ended: on a terminal on the whole screen, with task sets and
executors; elsewhere in a line each time.`,
		Args: exactArgs("application-id"),
	}
	watch := c.Flags().BoolP("watch", "w", false, "go on until the application ends, or Ctrl-C")
	interval := c.Flags().Duration("interval", 2*time.Second, "`TIME`: between two polls of --watch, 2s if not given")
	asJSON := addJSON(c)
	onCluster(t, c, func(c *cobra.Command, args []string, cluster clusterClient) error {
		switch {
		case *watch && *asJSON:
			return client.UsageError(errors.New("--watch is for people and --json for programs: take one of them"))
		case *watch:
			return watchApplication(c.Context(), t, *interval, func(ctx context.Context) (*client.Report, error) {
				return cluster.Status(ctx, args[0])
			})
		}
		report, err := cluster.Status(c.Context(), args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return t.printJSON(report)
		}
		report.Write(t.stdout)
		return nil
	})
	return c
}

// minInterval is the minimum of the flag --interval. It limits the load on the cluster.
const minInterval = 100 * time.Millisecond

func watchApplication(ctx context.Context, t terminal, interval time.Duration, fetch func(ctx context.Context) (*client.Report, error)) error {
	if interval < minInterval {
		return client.UsageError(fmt.Errorf("--interval %v: want %v at least", interval, minInterval))
	}
	screen := client.Screen{Out: t.stdout}
	if file, ok := t.stdout.(*os.File); ok && isTerminal(file) && os.Getenv("TERM") != "dumb" {
		screen.Size = func() (columns, rows int) {
			columns, rows, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80, 24
			}
			return columns, rows
		}
	}
	if hasColours(t.stdout) {
		screen.Paint = paintState
	}
	err := client.Watch(ctx, screen, interval, fetch)
	if err != nil && ctx.Err() != nil && interrupt.IsCtrlC(context.Cause(ctx)) {
		return nil // users stop --watch by Ctrl-C, so this is no failure
	}
	return err
}
