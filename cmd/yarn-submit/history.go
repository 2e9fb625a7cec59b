package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/events"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/internal/ui"
	"github.com/bobbin-yarn/bobbin/storage"
)

func newHistory(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "history [application-id]",
		Short: "Show applications after their end, from their event logs",
		Long: `Serve the pages of an application from its event log, on this machine, until
Ctrl-C. Without an application, list the logs in the directory, the latest first.

The directory is eventLog.dir: in HDFS, or file:///… on this machine. If it is not
set, .bobbin/history in your home directory in HDFS. A log can be named by its
path, too. You need the right to read the log.

With --listen, serve all applications of the directory to a team, each to those
whom its ui.view.acls admit. This server has no login: a proxy in front of it
authenticates readers and names them in the header of --user-header. Readers
without a name see the applications that everyone may see.`,
		Example: "  yarn-submit history application_1700000000000_0001\n  yarn-submit history --dir file:///var/log/bobbin\n" +
			"  yarn-submit history --dir hdfs:///logs --listen 127.0.0.1:18480",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return client.UsageError(fmt.Errorf("want one application-id at most, got %d arguments: %s", len(args), c.UseLine()))
			}
			return nil
		},
	}
	directory := addLogDirectory(c)
	port := c.Flags().Int("port", 0, "`PORT`: of this machine for the pages (default: a free one)")
	team := addTeamServer(c)
	asJSON := addJSON(c)
	c.AddCommand(newCompare(t))
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := team.check(args); err != nil {
			return client.UsageError(err)
		}
		h, err := openHistoryIn(t, *directory)
		if err != nil {
			return err
		}
		defer h.close()
		if team.address != "" {
			return team.serve(c.Context(), t, h)
		}
		if len(args) == 0 {
			return h.list(c.Context(), t, *asJSON)
		}
		return h.show(c.Context(), t, args[0], *port, *asJSON)
	}
	return c
}

func addLogDirectory(c *cobra.Command) *string {
	return c.Flags().String("dir", "", "`DIR`: the directory of the logs (eventLog.dir)")
}

// historyReader reads event logs as the user who runs the command.
type historyReader struct {
	identity  *client.Identity
	files     *storage.Files
	directory string
}

// openHistoryIn returns a reader of the logs in directory, the value of --dir; "" means
// eventLog.dir.
func openHistoryIn(t terminal, directory string) (*historyReader, error) {
	flags := map[string]string{}
	if directory != "" {
		flags[config.EventLogDir.Name()] = directory
	}
	settings, err := config.FromEnvironment(config.Sources{Flags: flags})
	if err != nil {
		return nil, client.UsageError(err)
	}
	return openHistory(t, settings)
}

func openHistory(t terminal, settings *config.Config) (*historyReader, error) {
	directory := config.EventLogDir.In(settings)
	hadoop, err := conf.FromEnvironment(config.Hadoop.In(settings))
	if errors.Is(err, conf.ErrNotConfigured) && directory != "" {
		hadoop, err = nil, nil
	}
	if err != nil {
		return nil, client.UsageError(err)
	}
	identity, err := client.Login(hadoop, settings)
	if err != nil {
		return nil, err
	}
	return &historyReader{
		identity:  identity,
		files:     storage.New(identity.Storage(storage.Options{Hadoop: hadoop, Logger: t.logger(false)})),
		directory: cmp.Or(directory, eventlog.DefaultDirectory(identity.User)),
	}, nil
}

func (h *historyReader) close() {
	_ = h.files.Close() // only read, so an error does not matter
	h.identity.Close()
}

func (h *historyReader) list(ctx context.Context, t terminal, asJSON bool) error {
	logs, err := eventlog.List(ctx, h.files, h.directory)
	if err != nil {
		return client.RefusedError(err)
	}
	if asJSON {
		if logs == nil {
			logs = []eventlog.Entry{}
		}
		return t.printJSON(logs)
	}
	if len(logs) == 0 {
		t.console.Print("no event logs in %s: see eventLog.enabled and eventLog.dir", h.directory)
		return nil
	}
	return printLogs(t.stdout, logs)
}

func printLogs(w io.Writer, logs []eventlog.Entry) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "APPLICATION\tATTEMPT\tSTATE\tWRITTEN\tBYTES")
	for _, log := range logs {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%d\n", log.Application, log.Attempt, log.State, log.Modified.Local().Format(time.DateTime), log.Size)
	}
	return table.Flush()
}

// find returns the path of an application's log. named is the application's id, or the path of the
// log if it contains a slash. If several attempts have logs, find returns the log of the latest
// attempt.
func (h *historyReader) find(ctx context.Context, named string) (string, error) {
	if strings.Contains(named, "/") {
		return named, nil
	}
	logs, err := eventlog.List(ctx, h.files, h.directory)
	if err != nil {
		return "", client.RefusedError(err)
	}
	var latest *eventlog.Entry
	for i, log := range logs {
		if log.Application == named && (latest == nil || log.Attempt > latest.Attempt) {
			latest = &logs[i]
		}
	}
	if latest == nil {
		return "", client.RefusedError(fmt.Errorf("%s has no event log in %s: yarn-submit history lists those that are there, and --dir names another directory", named, h.directory))
	}
	return latest.Path, nil
}

// show serves the pages of an application until the user interrupts the command. The pages first
// show the log's summary, which contains no single tasks. In the background, show reads the whole
// log, which the pages then show.
func (h *historyReader) show(ctx context.Context, t terminal, named string, port int, asJSON bool) error {
	path, err := h.find(ctx, named)
	if err != nil {
		return err
	}
	var shown atomic.Pointer[events.Snapshot]
	var partial atomic.Bool
	summary, err := eventlog.LoadSummary(ctx, h.files, path)
	if err != nil || summary == nil || asJSON {
		state, err := h.load(ctx, t, path)
		if err != nil {
			return err
		}
		if asJSON {
			return t.printJSON(state)
		}
		shown.Store(eventlog.WithEnd(state))
	} else {
		shown.Store(summary)
		partial.Store(true)
	}
	server, err := ui.ServeLocally(port, ui.New(ui.Options{Snapshot: shown.Load, Partial: partial.Load, Streams: true}), nil)
	if err != nil {
		return err
	}
	defer server.Close()
	t.console.Print("the pages of %s, until Ctrl-C:", shown.Load().Application.ID)
	if _, err := fmt.Fprintln(t.stdout, server.URL()); err != nil {
		return err
	}

	reading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var loading sync.WaitGroup
	defer loading.Wait()
	if partial.Load() {
		loading.Go(func() {
			state, err := h.load(reading, t, path)
			if err != nil {
				stop(err)
				return
			}
			shown.Store(eventlog.WithEnd(state))
			partial.Store(false)
		})
	}
	<-reading.Done()
	if cause := context.Cause(reading); !interrupt.IsCtrlC(cause) {
		return cause
	}
	return nil
}

// load reads a log. If the end of the log is missing, load prints a warning.
func (h *historyReader) load(ctx context.Context, t terminal, path string) (*events.Snapshot, error) {
	model, truncated, err := eventlog.Load(ctx, h.files, path, events.Limits{})
	state := model.Snapshot()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && state.Application.ID == "":
		return nil, client.RefusedError(err)
	case err != nil:
		t.console.Warn("the log is damaged, what comes before is shown: %v", err)
	case truncated:
		t.console.Warn("the log ends within a frame, what comes before is shown: %s", path)
	}
	return state, nil
}
