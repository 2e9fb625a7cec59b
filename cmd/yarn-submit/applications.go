package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/logs"
	"github.com/bobbin-yarn/bobbin/internal/config"
	standalone "github.com/bobbin-yarn/bobbin/standalone/client"
)

// applications is what a cluster knows of its applications: *client.Cluster is
// that of YARN.
type applications interface {
	Status(ctx context.Context, id string) (*client.Report, error)
	Kill(ctx context.Context, id string) (*client.Report, error)
	List(ctx context.Context, selection client.Selection) ([]client.Listed, error)
	Wait(ctx context.Context, id string, options client.WaitOptions) (*client.Report, error)
	Logs(ctx context.Context, id string, selection logs.Selection, console *client.Console, write func(logs.File, io.Reader) error) error
	logFollower
	Close()
}

// logFollower gives the lines of an application's logs as they are written.
type logFollower interface {
	FollowLogs(ctx context.Context, id string, selection logs.Selection, console *client.Console, write func(logs.Line) error) error
}

// reach gives the applications of the cluster that the master setting names.
func reach(t terminal, settings *config.Config) (applications, error) {
	if isStandalone(settings) {
		return standalone.Connect(settings, t.logger(false))
	}
	return connectYARN(settings, t.logger(false))
}

// yarnCluster is a YARN cluster with its logs.
type yarnCluster struct {
	*client.Cluster
	*logs.Reader
}

func connectYARN(settings *config.Config, log *slog.Logger) (*yarnCluster, error) {
	cluster, err := client.Connect(settings, log)
	if err != nil {
		return nil, err
	}
	return &yarnCluster{cluster, logs.Of(cluster)}, nil
}

// settingsWithMaster loads the settings of a command whose only flag of a
// setting is --master.
func settingsWithMaster(c *cobra.Command) (*config.Config, error) {
	flags := map[string]string{}
	if master := c.Flags().Lookup("master"); master != nil && master.Changed {
		flags[config.Master.Name()] = master.Value.String()
	}
	return config.FromEnvironment(config.Sources{Flags: flags})
}

// connected runs a command that needs only the cluster, with the settings of
// the environment, the defaults file and the master that a flag names.
func connected(t terminal, c *cobra.Command, run func(c *cobra.Command, args []string, cluster applications) error) {
	connectedWith(t, c, func(c *cobra.Command, args []string, cluster applications, _ *config.Config) error {
		return run(c, args, cluster)
	})
}

// connectedWith is connected for a command that needs the settings too.
func connectedWith(t terminal, c *cobra.Command, run func(c *cobra.Command, args []string, cluster applications, settings *config.Config) error) {
	c.Flags().String("master", "", "`MASTER`: whose applications: yarn (default), bobbin://HOST:PORT,…")
	c.RunE = func(c *cobra.Command, args []string) error {
		settings, err := settingsWithMaster(c)
		if err != nil {
			return client.Usage(err)
		}
		cluster, err := reach(t, settings)
		if err != nil {
			return err
		}
		defer cluster.Close()
		if yarn, ok := cluster.(*yarnCluster); ok {
			defer yarn.NoticeSilence(t.console)()
		}
		return run(c, args, cluster, settings)
	}
}
