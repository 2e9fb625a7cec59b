package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
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

What yarn-submit run --detach was told to --collect comes back now, and its
--summary is written: what was to lie below the directory of then, below the
one of now. --collect and --summary name other places.

Exit status: as for submit, and that of the command where the application is
one of yarn-submit run.`,
		Example: "  id=$(yarn-submit run --detach --collect '*.csv=out' --tasks 8 -- ./script.sh)\n" +
			"  yarn-submit wait --timeout 30m --summary junit.xml $id",
		Args: exactArgs("application-id"),
	}
	timeout := c.Flags().Duration("timeout", 0, "`TIME`: kill the application when it takes longer from now on, as 30m")
	collect := c.Flags().StringArray("collect", nil, "`PATTERN=DIR`: bring the files of a pattern that run --detach was given into another directory; may be repeated")
	summary := c.Flags().String("summary", "", "`FILE`: write a JUnit file with one test case a task, of what run --detach was given --collect or --summary")
	asJSON := addJSON(c)
	connectedWith(t, c, func(c *cobra.Command, args []string, cluster applications, settings *config.Config) error {
		if *timeout < 0 || c.Flags().Changed("timeout") && *timeout == 0 {
			return client.Usage(errors.New("--timeout: want a time above 0, as 30m"))
		}
		finish, err := newWaitFinish(t, settings, *collect, *summary)
		if err != nil {
			return client.Usage(err)
		}
		if err := finish.begin(c.Context(), cluster, args[0]); err != nil {
			return err
		}
		report, err := cluster.Wait(c.Context(), args[0], client.WaitOptions{
			Console: t.console, Timeout: *timeout, Leave: interrupt.IsByHand,
		})
		if *asJSON && report != nil {
			err = errors.Join(err, t.printJSON(report))
		}
		return finish.end(c.Context(), report, carry(report, err))
	})
	return c
}
