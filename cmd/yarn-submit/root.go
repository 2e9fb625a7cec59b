package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func newRoot(t terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "yarn-submit",
		Short: "Run Go programs and commands on a Hadoop YARN cluster",
		Long: `Run Go programs and commands on a Hadoop YARN cluster, with no JVM in their
containers. HADOOP_CONF_DIR names the directory that holds the cluster's
core-site.xml and yarn-site.xml. A setting such as executor.memory comes from a
flag or --conf executor.memory=2g, else from BOBBIN_EXECUTOR_MEMORY in the
environment, a job file, --properties-file, or the defaults file, in this order.
The defaults file is bobbin-defaults.conf in the directory BOBBIN_CONF_DIR, in
~/.bobbin or in /etc/bobbin: the first that exists.

Results go to stdout, all else to stderr. Exit status: 0 success, 1 the
application failed or was killed, 2 wrong usage, 3 the cluster could not be
reached or refused.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return client.UsageError(fmt.Errorf("no command: want one of %s; see yarn-submit --help", strings.Join(commandNames(), ", ")))
			}
			return client.UsageError(fmt.Errorf("unknown command %q%s; see yarn-submit --help", args[0], didYouMean(args[0], commandNames())))
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true // newCompletion adds the completion command
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(usage(t))
	root.AddCommand(newSubmit(t), newRun(t), newStream(t), newHiddenRun(), newHiddenReach(), newStatus(t), newKill(t), newList(t), newLogs(t), newHistory(t), newReport(t), newWait(t), newProfile(t), newMetricsSD(t), newMaster(t), newWorker(t), newDecommission(t), newFS(t), newCompletion(t), newMan(), newDoctor(t), newVersion(t))
	root.Version = thisBuild().String()
	root.SetVersionTemplate("{{.Version}}\n")
	addCompletions(root)
	return root
}

func commandNames() []string {
	var names []string
	for _, group := range commandGroups {
		for _, name := range group.names {
			if name != "help" {
				names = append(names, name)
			}
		}
	}
	return names
}

// flagError adds the name of a similar flag to the error for an unknown flag.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return client.UsageError(fmt.Errorf("%w; see %s --help", err, c.CommandPath()))
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	name := "--" + unknown.GetSpecifiedName()
	return client.UsageError(fmt.Errorf("unknown flag %s%s; see %s --help", name, didYouMean(name, names), c.CommandPath()))
}

func didYouMean(name string, candidates []string) string {
	if nearest, ok := config.Nearest(name, candidates); ok {
		return ", did you mean " + nearest + "?"
	}
	return ""
}

// exactArgs requires exactly one argument for each element of names.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return client.UsageError(fmt.Errorf("want %s, got %d arguments: %s", strings.Join(names, " "), len(args), c.UseLine()))
	}
}

func addJSON(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print the result as JSON on stdout")
}
