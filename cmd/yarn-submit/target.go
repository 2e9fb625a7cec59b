package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	standalone "github.com/bobbin-yarn/bobbin/standalone/client"
)

// target is where a program runs. Only this file and decommission.go distinguish the kinds of
// masters. To add a cluster manager, extend newTarget, connect and the help of
// --master in onTarget.
type target struct {
	url masterurl.URL
	// local is set if one process on this machine is both driver and executor.
	local bool
	// driverHere is set if the driver runs in the submitting process.
	driverHere bool
	// submitsItself is set if the program, in its driver process, submits the application (client
	// mode on YARN).
	submitsItself bool
	// onOneMachine is set if driver and executors run on this machine.
	onOneMachine bool
	// keepsResults is set if any process can find the results by the application's id after the
	// submitting process has ended.
	keepsResults bool
}

// newTarget returns the target that the settings master and submit.deployMode select.
func newTarget(settings *config.Config) (target, error) {
	url, err := masterurl.FromSettings(settings, masterurl.YARNURL)
	var unknown *masterurl.UnknownError
	if errors.As(err, &unknown) {
		err = fmt.Errorf("master %q (from %s): want yarn, "+masterurl.Forms+"%s",
			unknown.URL, settings.Source(config.Master.Name()), didYouMean(unknown.URL, []string{"yarn", "local", "bobbin://"}))
	}
	if err != nil {
		return target{}, client.UsageError(err)
	}
	oneMachine := url.Kind == masterurl.Local || url.Kind == masterurl.LocalCluster
	driverHere := oneMachine || config.ClientMode(settings)
	return target{
		url: url, local: url.Kind == masterurl.Local, onOneMachine: oneMachine,
		driverHere: driverHere, submitsItself: driverHere && url.Kind == masterurl.YARN, keepsResults: url.Kind != masterurl.Standalone,
	}, nil
}

// clusterClient is a client of a YARN cluster or a standalone cluster.
type clusterClient interface {
	Submit(ctx context.Context, job client.Job) (*client.Report, error)
	Status(ctx context.Context, id string) (*client.Report, error)
	Kill(ctx context.Context, id string) (*client.Report, error)
	List(ctx context.Context, selection client.Selection) ([]client.ListedApplication, error)
	Wait(ctx context.Context, id string, options client.WaitOptions) (*client.Report, error)
	Logs(ctx context.Context, id string, selection logs.Selection, console *client.Console, write func(logs.File, io.Reader) error) error
	FollowLogs(ctx context.Context, id string, selection logs.Selection, console *client.Console, write func(logs.Line) error) error
	Profile(ctx context.Context, id string, o client.ProfileOptions) ([]byte, error)
	MetricTargets(ctx context.Context) ([]client.MetricTarget, error)
	// Queues returns the names of the queues; nil if the cluster has no queues.
	Queues(ctx context.Context) ([]string, error)
	Close()
}

type yarnCluster struct {
	*client.Cluster
	*logs.Reader
}

// connect returns a client of the target's cluster. For a local master, which has no cluster, it
// returns a client of the YARN cluster of the Hadoop configuration.
func (d target) connect(t terminal, settings *config.Config, verbose bool) (clusterClient, error) {
	if d.url.Kind == masterurl.Standalone {
		return standalone.Connect(settings, t.logger(verbose))
	}
	cluster, err := client.Connect(settings, t.logger(verbose))
	if err != nil {
		return nil, err
	}
	return yarnCluster{cluster, logs.NewReader(cluster)}, nil
}

// namedTarget loads the settings for a command whose only flag with a setting is --master, and
// returns the target that they select.
func namedTarget(c *cobra.Command) (target, *config.Config, error) {
	flags := map[string]string{}
	if master := c.Flags().Lookup("master"); master != nil && master.Changed {
		flags[config.Master.Name()] = master.Value.String()
	}
	settings, err := config.FromEnvironment(config.Sources{Flags: flags})
	if err != nil {
		return target{}, nil, client.UsageError(err)
	}
	named, err := newTarget(settings)
	return named, settings, err
}

// onCluster sets the function of command c: it calls run with a client of the cluster that
// --master, the environment or the defaults file selects.
func onCluster(t terminal, c *cobra.Command, run func(c *cobra.Command, args []string, cluster clusterClient) error) {
	onTarget(t, c, func(c *cobra.Command, args []string, cluster clusterClient, _ target, _ *config.Config) error {
		return run(c, args, cluster)
	})
}

// onTarget is like onCluster, and also passes the target and the settings to run.
func onTarget(t terminal, c *cobra.Command, run func(c *cobra.Command, args []string, cluster clusterClient, target target, settings *config.Config) error) {
	c.Flags().String("master", "", "`MASTER`: the cluster: yarn (default), bobbin://HOST:PORT,…")
	c.RunE = func(c *cobra.Command, args []string) error {
		named, settings, err := namedTarget(c)
		if err != nil {
			return err
		}
		cluster, err := named.connect(t, settings, false)
		if err != nil {
			return err
		}
		defer cluster.Close()
		if yarn, ok := cluster.(yarnCluster); ok {
			defer yarn.WarnIfSilent(t.console)()
		}
		return run(c, args, cluster, named, settings)
	}
}
