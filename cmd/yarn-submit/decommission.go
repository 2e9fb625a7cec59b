package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	standalone "github.com/bobbin-yarn/bobbin/standalone/client"
)

func newDecommission(t terminal) *cobra.Command {
	c := &cobra.Command{
		Use:   "decommission worker-id|host…",
		Short: "Decommission workers of a standalone cluster",
		Long: `Decommission workers of a standalone cluster: they accept nothing new, and end
when nothing runs on them any more, or after worker.decommissionTimeout.
Applications let their executors there finish their tasks, and get others
elsewhere.

Workers are named by their ids or by their hosts: a host stands for all workers
on it. If one of the names is unknown, nothing is done.

The command returns once the master has recorded the request; with --wait, when
the workers have ended.`,
		Example: "  yarn-submit decommission --master bobbin://master-host --wait node-7",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return client.UsageError(fmt.Errorf("want the id or host of a worker: %s", c.UseLine()))
			}
			return nil
		},
		ValidArgsFunction: completeWorker,
	}
	c.Flags().String("master", "", "`MASTER`: the cluster: bobbin://HOST:PORT,…")
	wait := c.Flags().Bool("wait", false, "wait until the workers have ended")
	asJSON := addJSON(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		cluster, err := connectStandalone(t, c)
		if err != nil {
			return err
		}
		defer cluster.Close()
		workers, err := cluster.Decommission(c.Context(), args)
		if err != nil {
			return err
		}
		printWorkers := func() {
			for i := range workers {
				t.console.Print("%v", &workers[i])
			}
		}
		if !*asJSON {
			printWorkers()
		}
		if *wait {
			if err := cluster.AwaitDecommissioned(c.Context(), workers, t.console); err != nil {
				return err
			}
			if !*asJSON {
				printWorkers()
			}
		}
		if *asJSON {
			return t.printJSON(workers)
		}
		return nil
	}
	return c
}

// completeWorker completes the id or the host of a worker of a standalone cluster.
func completeWorker(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	return completeFromCluster(c, func(ctx context.Context, cluster clusterClient) ([]string, error) {
		connected, ok := cluster.(*standalone.Cluster)
		if !ok {
			return nil, nil // only standalone clusters have workers
		}
		workers, err := connected.Workers(ctx)
		var words, hosts []string
		for _, w := range workers {
			words = append(words, cobra.CompletionWithDesc(w.ID, fmt.Sprintf("%s on %s, executors: %d", w.State, w.Host, w.Executors)))
			hosts = append(hosts, w.Host)
		}
		slices.Sort(hosts)
		words = append(words, slices.Compact(hosts)...)
		return slices.DeleteFunc(words, func(word string) bool {
			name, _, _ := strings.Cut(word, "\t")
			return !strings.HasPrefix(name, typed) || slices.Contains(args, name)
		}), err
	})
}

// connectStandalone connects to the standalone cluster that the setting master selects.
func connectStandalone(t terminal, c *cobra.Command) (*standalone.Cluster, error) {
	named, settings, err := namedTarget(c)
	if err != nil {
		return nil, err
	}
	if named.url.Kind != masterurl.Standalone {
		return nil, client.UsageError(errors.New("decommission is for workers of a standalone cluster: give --master bobbin://HOST:PORT; " +
			"nodes of YARN are decommissioned with yarn rmadmin -refreshNodes"))
	}
	return standalone.Connect(settings, t.logger(false))
}
