package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
)

func newWait(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "wait application-id",
		Short: "Follow an application to its end, and end as it does",
		Long: `Follow an application that was submitted before, with --detach or by
another process, to its end.

SIGTERM, as a pipeline sends it that is cancelled, kills the application.
Ctrl-C leaves it running.

Exit status: as for submit, and that of the command where the application is
one of yarn-submit run.`,
		Example: "  id=$(yarn-submit run --detach --tasks 8 -- ./script.sh)\n  yarn-submit wait --timeout 30m $id",
		Args:    exactArgs("application-id"),
	}
	timeout := c.Flags().Duration("timeout", 0, "`TIME`: kill the application when it takes longer from now on, as 30m")
	asJSON := addJSON(c)
	connected(t, c, func(c *cobra.Command, args []string, cluster applications) error {
		if *timeout < 0 || c.Flags().Changed("timeout") && *timeout == 0 {
			return client.Usage(errors.New("--timeout: want a time above 0, as 30m"))
		}
		report, err := cluster.Wait(c.Context(), args[0], client.WaitOptions{
			Console: t.console, Timeout: *timeout, Leave: interrupt.IsByHand,
		})
		if *asJSON && report != nil {
			err = errors.Join(err, t.printJSON(report))
		}
		return carry(report, err)
	})
	return c
}
