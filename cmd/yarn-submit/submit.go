package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func newSubmit(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "submit [flags] ./program [argument…]",
		Short: "Run a program that calls bobbin.Main",
		Long: `Run a program that calls bobbin.Main on the YARN cluster that HADOOP_CONF_DIR
describes, and follow it to its end. Flags end at the program; what follows it
are the program's own arguments. With --deploy-mode client the program's driver
function runs here, and only its tasks on the cluster.

Exit status: 0 the application succeeded, 1 it failed or was killed, 2 wrong
usage, 3 the cluster could not be reached or refused.`,
		Example: "  yarn-submit submit --num-executors 2 bin/wordcount hdfs:///in hdfs:///out\n" +
			"  yarn-submit submit --master 'local[*]' bin/pi 1000",
	}
	c.Flags().SetInterspersed(false)
	flags := addSettings(c)
	asJSON := addJSON(c)
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return client.UsageError(errors.New("no program to submit: yarn-submit submit [flags] ./program [argument…]"))
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		settings, err := flags.load(t)
		if err != nil {
			return err
		}
		target, err := newTarget(settings)
		if err != nil {
			return err
		}
		_, err = programRun{
			program: args[0], args: args[1:], settings: settings, target: target, json: *asJSON, logs: flags.logs, verbose: flags.verbose, report: flags.report,
		}.run(c.Context(), t)
		return err
	}
	return c
}

// programRun is a program with its arguments and settings.
type programRun struct {
	program  string
	own      bool // program is yarn-submit itself, so another build of it may be uploaded (see yarn.program)
	args     []string
	settings *config.Config
	target   target
	json     bool // print the report as JSON when the application has ended
	logs     bool // print the containers' log lines
	verbose  bool
	report   string // absolute path of the HTML report; "" for none
}

// run submits the program. In client mode and on one machine, it instead replaces this process by
// the program (see runInPlace). After a submission, run prints the application's id or, with
// --json, the report when the application has ended.
func (s programRun) run(ctx context.Context, t terminal) (*client.Report, error) {
	if s.target.local {
		return nil, s.runInPlace(t)
	}
	if err := s.checkLogs(); err != nil {
		return nil, err
	}
	if s.target.driverHere {
		return nil, s.runInPlace(t)
	}
	cluster, err := s.target.connect(t, s.settings, s.verbose)
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	job := s.job(t)
	defer s.followLogs(ctx, t, cluster, &job)()
	report, err := cluster.Submit(ctx, job)
	if s.report != "" && report != nil {
		s.writeReport(ctx, t, cmp.Or(report.RunsApplication, report.ApplicationID))
	}
	if s.json && report != nil {
		err = errors.Join(err, t.printJSON(report))
	}
	return report, err
}

func (s programRun) job(t terminal) client.Job {
	return client.Job{
		Program: s.program, IsOwnProgram: s.own, Args: s.args, Settings: s.settings, Console: t.console,
		Submitted: func(id string) {
			if !s.json && (!t.sameScreen || !config.WaitAppCompletion.In(s.settings)) {
				fmt.Fprintln(t.stdout, id)
			}
		},
	}
}
