package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/command"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// carriedStatus is the exit status of a command that ran in the cluster.
type carriedStatus struct {
	status int
	err    error
}

func (c *carriedStatus) Error() string { return c.err.Error() }
func (c *carriedStatus) Unwrap() error { return c.err }

// hiddenRun is the command that yarn-submit is started with in the cluster.
const hiddenRun = "__run"

func newRun(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "run [flags] --tasks N -- command [argument…]",
		Short: "Run any command as tasks",
		Long: `Run a command as N tasks on the YARN cluster that HADOOP_CONF_DIR describes.

In the command and its arguments {index} stands for the task's number from 0,
{tasks} for the number of tasks, and {attempt} for the number of earlier tries;
the command finds them in its environment too, as TASK_INDEX,
TASK_COUNT and TASK_ATTEMPT. A command that is a file of this
machine, named with a relative path such as ./script.sh, is shipped with it.

Exit status: that of the command where a task failed with 1 to 125; otherwise as
for submit.`,
		Example: "  yarn-submit run --tasks 8 --num-executors 2 -- ./script.sh {index}",
	}
	c.Flags().SetInterspersed(false)
	tasks := c.Flags().Int("tasks", 0, "`N`: how many times to run the command")
	retries := c.Flags().Int("retries", -1, "`N`: how often a task that failed is tried again (default: task.maxFailures - 1)")
	flags := addSettings(c)
	flags.addProgram()
	asJSON := addJSON(c)
	c.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return client.Usage(errors.New("no command to run: yarn-submit run [flags] --tasks N -- command [argument…]"))
		case *tasks < 1:
			return client.Usage(errors.New("say with --tasks N how many times the command is to run, at least once"))
		case c.Flags().Changed("retries") && *retries < 0:
			return client.Usage(errors.New("--retries: want 0 or more"))
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		settings, err := flags.load(t)
		if err != nil {
			return err
		}
		local, err := runsLocally(settings)
		if err != nil {
			return err
		}
		self, err := os.Executable()
		if err != nil {
			return client.Usage(fmt.Errorf("finding yarn-submit itself, which runs the command in the cluster: %w", err))
		}
		hidden := []string{hiddenRun, "--tasks", strconv.Itoa(*tasks)}
		if *retries >= 0 {
			hidden = append(hidden, "--max-failures", strconv.Itoa(*retries+1))
		}
		if local {
			return runInPlace(t, self, slices.Concat([]string{self}, hidden, []string{"--"}, args), settings)
		}
		if args, settings, err = shipped(args, settings); err != nil {
			return err
		}
		report, err := submit(c.Context(), t, submission{
			program: self, own: true, args: slices.Concat(hidden, []string{"--"}, args), settings: settings, json: *asJSON, verbose: flags.verbose,
		})
		return carry(report, err)
	}
	return c
}

// shipped adds the command to the files that go with the application, where it
// is a file of this machine, and names the application after it.
func shipped(args []string, settings *config.Config) ([]string, *config.Config, error) {
	changes := map[string]string{}
	name := filepath.Base(args[0])
	if config.AppName.In(settings) == "" {
		changes[config.AppName.Name()] = name
	}
	info, err := os.Stat(args[0])
	if strings.ContainsRune(args[0], '/') && !filepath.IsAbs(args[0]) && err == nil && info.Mode().IsRegular() {
		files := config.Files.In(settings)
		if !slices.Contains(files, args[0]) {
			files = append(slices.Clone(files), args[0])
		}
		changes[config.Files.Name()] = strings.Join(files, ",")
		args = append([]string{"./" + name}, args[1:]...)
	}
	changed, err := settings.With(changes)
	return args, changed, client.Usage(err)
}

// carry gives the error of a failed application the status with which the
// command ended.
func carry(report *client.Report, err error) error {
	if err == nil || report == nil {
		return err
	}
	const most = 125 // above it statuses are a shell's: not found, killed by a signal
	if status, ok := command.ExitStatus(report.Diagnostics); ok && status >= 1 && status <= most {
		return &carriedStatus{status: status, err: err}
	}
	return err
}

// newHiddenRun is what yarn-submit run starts in the cluster, or in its own
// place on this machine.
func newHiddenRun() *cobra.Command {
	c := &cobra.Command{Use: hiddenRun, Hidden: true}
	c.Flags().SetInterspersed(false)
	options := command.Options{}
	c.Flags().IntVar(&options.Tasks, "tasks", 0, "")
	c.Flags().IntVar(&options.MaxFailures, "max-failures", 0, "")
	c.Run = func(_ *cobra.Command, args []string) {
		options.Args = args
		command.Main(options)
	}
	return c
}
