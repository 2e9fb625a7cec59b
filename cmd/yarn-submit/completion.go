package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// completionTimeout limits the requests to the cluster for one completion.
const completionTimeout = 2 * time.Second

func newCompletion(t terminal) *cobra.Command {
	shells := map[string]func(root *cobra.Command, w io.Writer) error{
		"bash": func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":  func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish": func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
	}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a shell completion script",
		Long: `Print a script that makes a shell complete the command lines of yarn-submit,
with the cluster's applications and queues, and the settings' keys.

  bash   source <(yarn-submit completion bash)
  zsh    yarn-submit completion zsh > "${fpath[1]}/_yarn-submit"
  fish   yarn-submit completion fish > ~/.config/fish/completions/yarn-submit.fish`,
		Args: func(c *cobra.Command, args []string) error {
			if err := exactArgs("bash|zsh|fish")(c, args); err != nil {
				return err
			}
			if shells[args[0]] == nil {
				return client.UsageError(fmt.Errorf("the shell %q is none of bash, zsh, fish", args[0]))
			}
			return nil
		},
		ValidArgs:             []string{"bash", "zsh", "fish"},
		DisableFlagsInUseLine: true,
		RunE: func(c *cobra.Command, args []string) error {
			return shells[args[0]](c.Root(), t.stdout)
		},
	}
}

// addCompletions registers the functions that complete arguments and flags.
func addCompletions(root *cobra.Command) {
	for _, c := range root.Commands() {
		if strings.Contains(c.Use, "application-id") {
			c.ValidArgsFunction = completeApplication
		}
		for flag, complete := range map[string]cobra.CompletionFunc{
			"queue":       completeQueue,
			"conf":        completeSetting,
			"state":       completeWords("NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"),
			"deploy-mode": completeWords("cluster", "client"),
			"master":      completeWords("yarn", "local[*]", "local"),
		} {
			if c.Flags().Lookup(flag) != nil {
				// This fails if the flag already has a completion function.
				_ = c.RegisterFlagCompletionFunc(flag, complete)
			}
		}
	}
}

func completeWords(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// completeFromCluster returns the words that ask returns, or no words if ask fails or exceeds
// completionTimeout. It prints no errors, because they would garble the user's command line.
func completeFromCluster(c *cobra.Command, ask func(ctx context.Context, cluster clusterClient) ([]string, error)) ([]string, cobra.ShellCompDirective) {
	silent := terminal{stdout: io.Discard, console: client.NewConsole(io.Discard)}
	named, settings, err := namedTarget(c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cluster, err := named.connect(silent, settings, false)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer cluster.Close()
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	words, err := ask(ctx, cluster)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completeApplication completes an application id. It returns the ids of the newest applications
// first and, for the command kill, only of applications that have not ended.
func completeApplication(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	selection := client.Selection{Limit: 50}
	if c.Name() == "kill" {
		selection.States = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}
	}
	return completeFromCluster(c, func(ctx context.Context, cluster clusterClient) ([]string, error) {
		listed, err := cluster.List(ctx, selection)
		var words []string
		for _, a := range listed {
			if strings.HasPrefix(a.ApplicationID, typed) {
				words = append(words, cobra.CompletionWithDesc(a.ApplicationID, a.Name+", "+a.State+", "+a.Started.Format(time.DateTime)))
			}
		}
		return words, err
	})
}

// completeQueue completes the name of a queue that accepts applications.
func completeQueue(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return completeFromCluster(c, func(ctx context.Context, cluster clusterClient) ([]string, error) {
		names, err := cluster.Queues(ctx)
		return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, typed) }), err
	})
}

// completeSetting completes the setting's key after --conf.
func completeSetting(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	var words []string
	for _, setting := range config.Settings() {
		if strings.HasPrefix(setting.Key, typed) {
			words = append(words, cobra.CompletionWithDesc(setting.Key+"=", firstSentence(setting.Meaning)))
		}
	}
	return words, directive
}

func firstSentence(text string) string {
	sentence, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(sentence, ".")
}
