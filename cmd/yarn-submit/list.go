package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
)

func newList(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List bobbin's applications, the newest first",
		Example: "  yarn-submit list --state RUNNING,ACCEPTED --name 'nightly-*' --limit 0",
		Args:    cobra.NoArgs,
	}
	var selection client.Selection
	flags := c.Flags()
	flags.StringSliceVar(&selection.States, "state", nil, "`STATE`: only applications in it (RUNNING, FINISHED, …); several with commas")
	flags.StringVar(&selection.User, "user", "", "`USER`: only applications of the user")
	flags.StringVar(&selection.Queue, "queue", "", "`QUEUE`: only applications in it")
	flags.StringSliceVar(&selection.Tags, "tag", nil, "`TAG`: only those with it (yarn.tags); with any of several, with commas")
	flags.StringVar(&selection.Name, "name", "", "`NAME`: only those of that name; * and ? stand for any text and any character")
	flags.IntVar(&selection.Limit, "limit", 20, "`N`: at most so many, 20 if not given; 0 for all")
	asJSON := addJSON(c)
	onCluster(t, c, func(c *cobra.Command, _ []string, cluster clusterClient) error {
		if selection.Limit < 0 {
			return client.UsageError(fmt.Errorf("--limit %d: want 1 or more, or 0 for all", selection.Limit))
		}
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
		return printList(t.stdout, applications, hasColours(t.stdout))
	})
	return c
}

// printList prints a table of applications. It adds colours after the columns are aligned, because
// escape sequences would count as text.
func printList(w io.Writer, applications []client.ListedApplication, colours bool) error {
	rows := [][]string{{"APPLICATION", "NAME", "USER", "QUEUE", "STATE", "STATUS", "STARTED", "TOOK"}}
	const state, status = 4, 5 // indexes of the columns
	for _, a := range applications {
		rows = append(rows, []string{a.ApplicationID, a.Name, a.User, a.Queue, a.State, a.FinalStatus, started(a), took(a)})
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
			if colour := stateColour(cell); colours && colour != "" && (i == state || i == status) {
				cell = colour + cell + colourReset
			}
			line.WriteString(cell + padding)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// started formats the start time of an application. The time is unknown if the ResourceManager
// hides it from a user who may not view the application.
func started(a client.ListedApplication) string {
	if a.Started.IsZero() {
		return "unknown"
	}
	return a.Started.Format(time.DateTime)
}

// took formats how long an application ran, or has been running.
func took(a client.ListedApplication) string {
	if a.Started.IsZero() {
		return "unknown"
	}
	end := a.Finished
	if end.IsZero() {
		end = time.Now()
	}
	return end.Sub(a.Started).Round(100 * time.Millisecond).String()
}
