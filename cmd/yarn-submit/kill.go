package main

import (
	"github.com/spf13/cobra"
)

func newKill(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "kill application-id",
		Short: "End an application",
		Args:  exactArgs("application-id"),
	}
	asJSON := addJSON(c)
	onCluster(t, c, func(c *cobra.Command, args []string, cluster clusterClient) error {
		report, err := cluster.Kill(c.Context(), args[0])
		if err != nil {
			return err
		}
		if *asJSON {
			return t.printJSON(report)
		}
		if report.State != "KILLED" {
			t.console.Print("%s had ended before: %s, %s", report.ApplicationID, report.State, report.FinalStatus)
			return nil
		}
		t.console.Print("%s is killed", report.ApplicationID)
		return nil
	})
	return c
}
