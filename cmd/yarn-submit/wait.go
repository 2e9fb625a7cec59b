package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/interrupt"
	"github.com/bobbin-yarn/bobbin/storage"
)

func newWait(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "wait application-id",
		Short: "Follow an application to its end, and end as it does",
		Long: `Follow an application that was submitted before, with --detach or by
another process, to its end.

SIGTERM, which a cancelled pipeline sends, kills the application. Ctrl-C leaves
it running.

If yarn-submit run --detach was given --collect or --summary, wait copies the
files and writes the summary. Paths below the working directory of run are taken
below the current one; --collect and --summary name other paths.

Exit status: as for submit, and that of the command for an application of
yarn-submit run.`,
		Example: "  id=$(yarn-submit run --detach --collect '*.csv=out' --tasks 8 -- ./script.sh)\n" +
			"  yarn-submit wait --timeout 30m --summary junit.xml $id",
		Args: exactArgs("application-id"),
	}
	timeout := c.Flags().Duration("timeout", 0, "`TIME`: kill the application when it takes longer from now on, as 30m")
	collect := c.Flags().StringArray("collect", nil, "`PATTERN=DIR`: copy the files of a pattern that run --detach was given to another directory; may be repeated")
	summary := c.Flags().String("summary", "", "`FILE`: write a JUnit file with one test case a task, of what run --detach was given --collect or --summary")
	asJSON := addJSON(c)
	onTarget(t, c, func(c *cobra.Command, args []string, cluster clusterClient, target target, settings *config.Config) error {
		if *timeout < 0 || c.Flags().Changed("timeout") && *timeout == 0 {
			return client.UsageError(errors.New("--timeout: want a time above 0, as 30m"))
		}
		results, err := newWaitResults(t, target, settings, *collect, *summary)
		if err != nil {
			return client.UsageError(err)
		}
		if err := results.begin(c.Context(), cluster, args[0]); err != nil {
			return err
		}
		report, err := cluster.Wait(c.Context(), args[0], client.WaitOptions{
			Console: t.console, Timeout: *timeout, KeepRunning: interrupt.IsCtrlC,
		})
		if *asJSON && report != nil {
			err = errors.Join(err, t.printJSON(report))
		}
		return results.end(c.Context(), report, withCommandStatus(report, err))
	})
	return c
}

// savedResultsTag is the YARN tag of applications that save results for yarn-submit wait.
const savedResultsTag = "bobbin-results"

// waitResults collects the results of an application that was submitted with --detach.
type waitResults struct {
	terminal     terminal
	settings     *config.Config
	requested    bool // --collect or --summary is set
	keepsResults bool // value of target.keepsResults
	collects     []command.CollectRule
	summary      string // absolute path of --summary; "" means DetachedPlan.Summary
	directory    string // working directory of this process
	user         string

	tags      []string       // the application's tags
	files     *storage.Files // nil if there are no results that this user can collect; set by begin
	base, own string         // base is the URI of the user's results directory; own is the URI of the application's subdirectory
}

// newWaitResults parses and checks the flags.
func newWaitResults(t terminal, target target, settings *config.Config, collect []string, summary string) (*waitResults, error) {
	w := &waitResults{terminal: t, keepsResults: target.keepsResults, settings: settings, requested: len(collect) > 0 || summary != ""}
	hadoop, err := hadoopOf(settings)
	if err != nil {
		return nil, err
	}
	identity, err := client.Login(hadoop, settings)
	if err != nil {
		return nil, err
	}
	identity.Close()
	w.user = identity.User
	if w.directory, err = os.Getwd(); err != nil {
		return nil, err
	}
	for _, text := range collect {
		parsed, err := command.ParseCollectRule(text, w.directory)
		if err != nil {
			return nil, fmt.Errorf("--collect %w", err)
		}
		w.collects = append(w.collects, parsed)
	}
	if summary != "" {
		w.summary, err = filepath.Abs(summary)
	}
	return w, err
}

// begin checks whether the application saves results that this user can collect, and opens the file
// systems from which end reads the results. begin fails if the flags request results and there are
// none to collect.
func (w *waitResults) begin(ctx context.Context, cluster clusterClient, id string) error {
	if !w.keepsResults {
		if w.requested {
			return client.UsageError(errors.New("--collect and --summary: on a standalone cluster only the yarn-submit that submits an application can collect its results: give them to yarn-submit run, without --detach"))
		}
		return nil
	}
	report, err := cluster.Status(ctx, id)
	if err != nil {
		return err
	}
	w.tags = report.Tags
	switch {
	case !slices.Contains(w.tags, savedResultsTag):
		if w.requested {
			return client.UsageError(fmt.Errorf("%s keeps nothing to collect: --collect and --summary of wait are for what was submitted by yarn-submit run with --detach and one of them", id))
		}
		return nil
	case !w.requested && report.User != w.user:
		w.terminal.console.Print("only %s can collect the results of %s", report.User, id)
		return nil
	}
	var base string
	if w.files, base, err = sharedResults(w.terminal, w.settings, false); err != nil {
		return err
	}
	w.base, w.own = base, command.ResultsDirectory(base, id)
	if len(w.collects) > 0 {
		// Before the application starts, there is no saved plan.
		if _, err := w.plan(ctx); err != nil && !errors.Is(err, command.ErrNoSavedPlan) {
			return errors.Join(err, w.files.Close())
		}
	}
	return nil
}

// plan reads the saved plan and changes the target directories in it. Targets below the working
// directory of yarn-submit run are moved to the working directory of this process. --collect
// replaces the targets of the patterns that it names.
func (w *waitResults) plan(ctx context.Context) (*command.Plan, error) {
	plan, err := command.ReadSavedPlan(ctx, w.files, w.own)
	if err != nil {
		return nil, err
	}
	plan.Results = w.base
	plan.MoveTo(w.directory)
	for _, collect := range w.collects {
		if err := plan.ReplaceTarget(collect); err != nil {
			return nil, client.UsageError(fmt.Errorf("--collect: %w", err))
		}
	}
	if _, _, err := plan.FindCollision(); err != nil {
		return nil, client.UsageError(fmt.Errorf("--collect: %w", err))
	}
	return plan, nil
}

// end collects the results of an application that ended with the error err. end returns its own
// errors joined with err, and err comes last.
func (w *waitResults) end(ctx context.Context, report *client.Report, err error) error {
	if w.files == nil {
		return err // there are no results, or only another user can collect them
	}
	collector := &resultCollector{
		terminal: w.terminal, files: w.files, maxAge: config.CacheMaxAge.In(w.settings),
		keepOnSuccess: slices.ContainsFunc(w.tags, client.IsKeyTag),
	}
	defer collector.close()
	if report == nil {
		return err // the application continues, or its state is unknown
	}
	planCtx, cancel := finishContext(ctx)
	defer cancel()
	plan, problem := w.plan(planCtx)
	if errors.Is(problem, command.ErrNoSavedPlan) && !w.requested {
		return err // the results were collected before, or the driver has not started
	}
	if problem != nil {
		if errors.Is(problem, command.ErrNoSavedPlan) {
			problem = fmt.Errorf("%w: it was collected before, the driver never began, or yarn.stagingDir is not what it was for the submission", problem)
		}
		return errors.Join(problem, err)
	}
	collector.plan, collector.summary = plan, cmp.Or(w.summary, plan.Detached.Summary)
	return collector.run(ctx, report, err)
}
