package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/storage"
)

// historyDirectory is the directory of event logs below the user's directory in HDFS.
const historyDirectory = "/.bobbin/history"

func newHistory(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "history [application-id]",
		Short: "Show the pages of an application after its end",
		Long: `Serve the pages of an application from its event log on this machine, until
Ctrl-C. The address, which is printed, cannot be guessed by other users.

Without an application-id, list the applications that have an event log.`,
		Example: "  yarn-submit history\n  yarn-submit history application_1700000000000_0001 --port 18080",
		Args:    cobra.MaximumNArgs(1),
	}
	flags := c.Flags()
	directory := flags.String("dir", "", "`DIRECTORY`: where the event logs are (default: eventLog.dir, else .bobbin/history in your home directory in HDFS)")
	attempt := flags.Int("attempt", 0, "`N`: the attempt of the application (default: the last)")
	port := flags.Int("port", 0, "`PORT`: serve the pages on it (default: any that is free)")
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		settings, err := config.FromEnvironment(config.Sources{})
		if err != nil {
			return client.Usage(err)
		}
		files, logs, err := eventLogs(t, settings, *directory)
		if err != nil {
			return err
		}
		defer func() { _ = files.Close() }() // they were only read
		entries, err := eventlog.List(c.Context(), files, logs)
		switch {
		case err != nil:
			return fmt.Errorf("the event logs in %s: %w", logs, err)
		case len(args) == 0 && *asJSON:
			return t.printJSON(entries)
		case len(args) == 0:
			return t.printEventLogs(entries)
		}
		i := slices.IndexFunc(entries, func(e eventlog.Entry) bool {
			return e.Application == args[0] && (*attempt == 0 || e.Attempt == *attempt)
		})
		if i < 0 {
			return fmt.Errorf("%s has no event log in %s: yarn-submit history lists those that are there, and --dir names another directory", args[0], logs)
		}
		return t.serveHistory(c.Context(), files, entries[i], *port)
	}
	return c
}

// eventLogs returns the file systems and the directory of the event logs.
func eventLogs(t terminal, settings *config.Config, directory string) (*storage.Files, string, error) {
	hadoop, err := hadoopOf(settings)
	if err != nil {
		return nil, "", err
	}
	directory = cmp.Or(directory, config.EventLogDir.In(settings))
	if hadoop == nil && directory == "" {
		return nil, "", client.Usage(errors.New("the event logs are in HDFS, and HADOOP_CONF_DIR is not set: set it, or name another directory with --dir file:///…"))
	}
	identity, err := client.Login(hadoop, settings) // for as long as this process
	if err != nil {
		return nil, "", err
	}
	files := storage.New(identity.Storage(storage.Options{Hadoop: hadoop, Logger: t.logger(false)}))
	directory, err = files.Qualify(cmp.Or(directory, "/user/"+identity.User+historyDirectory))
	if err != nil {
		return nil, "", client.Usage(errors.Join(err, files.Close()))
	}
	return files, directory, nil
}

// printEventLogs prints a table of event logs, the latest first.
func (t terminal) printEventLogs(entries []eventlog.Entry) error {
	table := tabwriter.NewWriter(t.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "APPLICATION\tATTEMPT\tSTATE\tWRITTEN\tBYTES")
	for _, e := range entries {
		fmt.Fprintln(table, strings.Join([]string{
			e.Application, strconv.Itoa(e.Attempt), e.State, e.Modified.Local().Format(time.DateTime), strconv.FormatInt(e.Size, 10),
		}, "\t"))
	}
	return table.Flush()
}

// serveHistory serves the pages of an event log until ctx ends. It begins with the log's
// summary, which has no single tasks, and reads the rest meanwhile.
func (t terminal) serveHistory(ctx context.Context, files *storage.Files, entry eventlog.Entry, port int) error {
	var shown atomic.Pointer[events.Snapshot]
	var partial atomic.Bool
	partial.Store(true)
	summary, err := eventlog.LoadSummary(ctx, files, entry.Path)
	if err != nil {
		return err
	}
	if summary == nil {
		summary = events.NewModel(events.Limits{}).Snapshot()
	}
	shown.Store(summary)
	server, err := ui.ServeLocally(port, ui.New(ui.Options{Snapshot: shown.Load, Partial: partial.Load, Streams: true}))
	if err != nil {
		return client.Usage(err)
	}
	defer server.Close()
	fmt.Fprintln(t.stdout, server.URL())

	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var loading sync.WaitGroup
	defer loading.Wait()
	loading.Go(func() {
		model, truncated, err := eventlog.Load(reading, files, entry.Path, events.Limits{})
		if err != nil {
			stop(err)
			return
		}
		if truncated {
			t.console.Warn("the event log ends within a line: its application was killed, or runs")
		}
		shown.Store(ended(model.Snapshot()))
		partial.Store(false)
	})
	<-reading.Done()
	if ctx.Err() != nil {
		return nil // Ctrl-C
	}
	return context.Cause(reading)
}

// ended returns a snapshot in which the application does not run: of an application whose
// driver was killed, nothing follows its last event.
func ended(s *events.Snapshot) *events.Snapshot {
	if s.Application.State == events.Running || s.Application.State == "" {
		s.Application.State, s.Application.Ended = events.Killed, s.Latest
		s.Application.Error = "The event log has no end: the driver was killed, or it runs and has written nothing later."
	}
	return s
}
