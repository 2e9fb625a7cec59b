package main

import (
	"github.com/spf13/cobra"
)

func newStatus(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "status application-id",
		Short: "Tell where an application stands",
		Args:  exactArgs("application-id"),
	}
	asJSON := addJSON(c)
	connected(t, c, func(c *cobra.Command, args []string, cluster applications) error {
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
