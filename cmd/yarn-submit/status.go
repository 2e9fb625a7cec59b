package main

import (
	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
)

func newStatus(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "status application-id",
		Short: "Tell where an application stands",
		Args:  exactArgs("application-id"),
	}
	asJSON := addJSON(c)
	c.RunE = connected(t, func(c *cobra.Command, args []string, cluster *client.Cluster) error {
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
