package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/command"
)

// commandStatus is an error that carries the exit status of a command that failed as a task.
type commandStatus struct {
	status int
	err    error
}

func (c *commandStatus) Error() string { return c.err.Error() }
func (c *commandStatus) Unwrap() error { return c.err }

// runFlags are the parsed flags of the commands run and stream.
type runFlags struct {
	*settingsFlags
	tasks, retries int
	collect        []string
	summary        string
	dryRun         bool
	json           *bool
	// stream contains the flags that only the command stream has; nil for the command run.
	stream *streamFlags
	// jobFile is the path of the job file; "" if the command to run is on the command line.
	jobFile string
}

func newRun(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "run [flags] {job.yaml | --tasks N -- command [argument…]}",
		Short: "Run the steps of a job file, or any command as tasks",
		Long: `Run the steps that a job file describes, or a command as N tasks, on the YARN
cluster that HADOOP_CONF_DIR describes. Flags override a job file.

In a command and its arguments {index} stands for the task's number from 0,
{tasks} for the number of tasks, and {attempt} for the number of earlier tries;
the command finds them in its environment too, as TASK_INDEX,
TASK_COUNT and TASK_ATTEMPT. A command that is a file of this
machine, named with a relative path such as ./script.sh, is shipped with it.

--collect copies files that tasks leave in their working directories to this
machine; each task then has a working directory of its own. DIR gets them below
STEP/INDEX, unless it has placeholders itself. --summary writes the outcome of
each task to a JUnit file. With --detach, yarn-submit wait does both.

Exit status: that of the command if a task failed with 1 to 125; otherwise as
for submit.`,
		Example: "  yarn-submit run job.yaml --dry-run\n" +
			"  yarn-submit run --tasks 8 --num-executors 2 --collect '*.csv=out' -- ./script.sh {index}",
	}
	c.Flags().SetInterspersed(false)
	f := &runFlags{}
	c.Flags().IntVar(&f.tasks, "tasks", 0, "`N`: how many times to run the command")
	c.Flags().IntVar(&f.retries, "retries", -1, "`N`: how often a task that failed is tried again (default: as the job file says; of a command, task.maxFailures - 1)")
	c.Flags().StringArrayVar(&f.collect, "collect", nil, "`PATTERN=DIR`: copy files that tasks leave to a directory of this machine; may be repeated")
	c.Flags().StringVar(&f.summary, "summary", "", "`FILE`: write a JUnit file with one test case a task")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be submitted, and submit nothing")
	f.settingsFlags = addSettings(c)
	f.addProgram()
	f.json = addJSON(c)
	c.Args = f.arguments
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Lookup("help").Changed {
			return c.Help() // cobra itself handles --help only before the job file
		}
		w, err := f.runJob(t, args)
		if err != nil {
			return err
		}
		if f.dryRun {
			return w.printDryRun(t, *f.json)
		}
		return w.execute(c.Context(), t)
	}
	return c
}

// arguments checks the arguments. If the first argument is a job file, it also parses the flags
// that follow.
func (f *runFlags) arguments(c *cobra.Command, args []string) error {
	const usage = "yarn-submit run job.yaml, or yarn-submit run [flags] --tasks N -- command [argument…]"
	if len(args) > 0 && !c.Flags().Changed("tasks") && c.ArgsLenAtDash() < 0 && isJobFile(args[0]) {
		f.jobFile = args[0]
		c.Flags().SetInterspersed(true)
		if err := c.ParseFlags(args[1:]); err != nil {
			return flagError(c, err)
		}
		args = c.Flags().Args()
	}
	switch {
	case f.jobFile != "" && c.Flags().Changed("tasks"):
		return client.UsageError(errors.New("--tasks is for a command: the tasks of a job file's steps are in the file"))
	case f.jobFile != "" && len(args) > 0:
		return client.UsageError(fmt.Errorf("a job file takes no arguments, got %q; its commands are in the file", args[0]))
	case f.jobFile == "" && len(args) == 0:
		return client.UsageError(errors.New("no command to run: " + usage))
	case f.jobFile == "" && f.tasks < 1:
		return client.UsageError(errors.New("say with --tasks N how many times the command is to run, at least once; a job file's name ends in .yaml or .yml"))
	case c.Flags().Changed("retries") && f.retries < 0:
		return client.UsageError(errors.New("--retries: want 0 or more"))
	}
	return nil
}

func isJobFile(name string) bool {
	extension := filepath.Ext(name)
	return extension == ".yaml" || extension == ".yml"
}

// hiddenRun is the hidden command that starts the driver of yarn-submit run.
const hiddenRun = "__run"

// newHiddenRun returns the hidden command that runs a plan as the driver.
func newHiddenRun() *cobra.Command {
	c := &cobra.Command{Use: hiddenRun, Hidden: true}
	plan := c.Flags().String("plan", "", "")
	file := c.Flags().String("plan-file", "", "")
	remove := c.Flags().Bool("remove", false, "")
	c.Run = func(*cobra.Command, []string) {
		command.Main(func() (*command.Plan, error) {
			if *file != "" {
				return command.ReadPlan(*file, *remove)
			}
			return command.DecodePlan([]byte(*plan))
		})
	}
	return c
}

// withCommandStatus returns err, the error of a failed application. If the report contains the exit
// status of the command that failed, withCommandStatus wraps err in a commandStatus.
func withCommandStatus(report *client.Report, err error) error {
	if err == nil || report == nil {
		return err
	}
	const most = 125 // shells use higher statuses: 126 and 127 if they cannot run a command, 128 and above for signals
	if status, ok := command.ExitStatus(report.Diagnostics); ok && status >= 1 && status <= most {
		return &commandStatus{status: status, err: err}
	}
	return err
}

// executablePath returns the path of yarn-submit's own binary, which runs the commands on the
// cluster.
func executablePath() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", client.UsageError(fmt.Errorf("finding yarn-submit itself, which runs the command in the cluster: %w", err))
	}
	return path, nil
}
