package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
)

func newList(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "list",
		Short: "List bobbin's applications, the newest first",
		Args:  cobra.NoArgs,
	}
	var selection client.Selection
	flags := c.Flags()
	flags.StringSliceVar(&selection.States, "state", nil, "`STATE`: only those in it (RUNNING, FINISHED, …); several with commas")
	flags.StringVar(&selection.User, "user", "", "`USER`: only theirs")
	flags.StringVar(&selection.Queue, "queue", "", "`QUEUE`: only those in it")
	flags.IntVar(&selection.Limit, "limit", 20, "`N`: at most so many; 0 for all")
	asJSON := addJSON(c)
	connected(t, c, func(c *cobra.Command, _ []string, cluster applications) error {
		for i, state := range selection.States {
			selection.States[i] = strings.ToUpper(strings.TrimSpace(state))
		}
		applications, err := cluster.List(c.Context(), selection)
		if err != nil {
			return err
		}
		if *asJSON {
			return t.printJSON(applications)
		}
		table := tabwriter.NewWriter(t.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "APPLICATION\tNAME\tUSER\tQUEUE\tSTATE\tSTATUS\tSTARTED\tTOOK")
		for _, a := range applications {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", a.ApplicationID, a.Name, a.User, a.Queue, a.State, a.FinalStatus,
				a.Started.Format(time.DateTime), took(a))
		}
		return table.Flush()
	})
	return c
}

// took is how long an application ran, or runs already.
func took(a client.Listed) string {
	end := a.Finished
	if end.IsZero() {
		end = time.Now()
	}
	return end.Sub(a.Started).Round(100 * time.Millisecond).String()
}
