package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/eventlog"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ui"
)

func newReport(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "report [flags] application-id",
		Short: "Write an application's pages to one HTML file, from its event log",
		Long: `Write what the pages of an application say to one HTML file of at most 1 MiB:
failures with their stacks, jobs and stages, executors and settings. The file
loads nothing and has no script, so that it can be kept as the artifact of a
pipeline. The log is found as yarn-submit history finds it.

submit and run write the same with --report.`,
		Example: "  yarn-submit report application_1700000000000_0001 -o report.html",
		Args:    exactArgs("application-id"),
	}
	directory := addLogDirectory(c)
	output := c.Flags().StringP("output", "o", "report.html", "`FILE`: the file to write, - for stdout")
	c.RunE = func(c *cobra.Command, args []string) error {
		h, err := openHistoryIn(t, *directory)
		if err != nil {
			return err
		}
		defer h.close()
		path, err := h.find(c.Context(), args[0])
		if err != nil {
			return err
		}
		report, err := h.report(c.Context(), t, path)
		if err != nil {
			return err
		}
		if *output == "-" {
			_, err = t.stdout.Write(report)
			return err
		}
		return client.UsageError(os.WriteFile(*output, report, 0o644))
	}
	return c
}

// report returns the HTML report of the application whose log is at path.
func (h *historyReader) report(ctx context.Context, t terminal, path string) ([]byte, error) {
	state, err := h.load(ctx, t, path)
	if err != nil {
		return nil, err
	}
	return ui.Report(eventlog.WithEnd(state), time.Now())
}

// checkReport checks, before an application is submitted, whether its HTML report can be written to
// path after the application has ended. It returns the absolute path.
func checkReport(path string, settings *config.Config) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("--report: %w", err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return "", fmt.Errorf("--report %s: its directory does not exist", path)
	}
	switch target, err := newTarget(settings); {
	case err != nil:
		return "", err
	case target.driverHere:
		return path, nil
	case !config.WaitAppCompletion.In(settings):
		return "", errors.New("--report needs an application that is followed: leave out --detach, or use yarn-submit report after the end")
	case !config.EventLog.In(settings):
		return "", fmt.Errorf("--report needs the event log: eventLog.enabled is false (from %s)", settings.Source(config.EventLog.Name()))
	}
	return path, nil
}

// writeReport writes the HTML report of an application that has ended, from its event log. Problems
// are printed as warnings, because they do not change the application's result.
func (s programRun) writeReport(ctx context.Context, t terminal, id string) {
	ctx, cancel := finishContext(ctx)
	defer cancel()
	if err := s.tryReport(ctx, t, id); err != nil {
		t.console.Warn("the report of %s is not written: %v", id, err)
	}
}

func (s programRun) tryReport(ctx context.Context, t terminal, id string) error {
	h, err := openHistory(t, s.settings)
	if err != nil {
		return err
	}
	defer h.close()
	path, err := h.find(ctx, id)
	if err != nil {
		return err
	}
	report, err := h.report(ctx, t, path)
	if err != nil {
		return err
	}
	return os.WriteFile(s.report, report, 0o644)
}
