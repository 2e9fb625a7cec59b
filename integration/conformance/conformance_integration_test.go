//go:build integration

// Package conformance runs the conformance tests of the YARN simulator in internal/yarntest on
// real YARN daemons.
//
// The environment variable BOBBIN_TEST_HADOOP_VERSION chooses the Hadoop release.
package conformance

import (
	"context"
	"log/slog"
	"os"
	"os/user"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/yarntest/conformance"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// start starts a cluster whose ResourceManager and NodeManagers recover their state after a
// restart.
func start(t *testing.T) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	hadoop, err := cluster.Start(ctx, cluster.Options{
		HadoopVersion: os.Getenv("BOBBIN_TEST_HADOOP_VERSION"),
		Nodes:         []cluster.NodeSpec{{Host: "127.0.0.61", Rack: "/rack-a"}, {Host: "127.0.0.62", Rack: "/rack-b"}},
		YARN: cluster.Properties{
			"yarn.resourcemanager.recovery.enabled": "true",
			"yarn.resourcemanager.store.class":      "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
			// The interval is longer than pauses of a NodeManager on a busy machine.
			"yarn.nm.liveness-monitor.expiry-interval-ms": "15000",
		},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		stopping, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		assert.NoError(t, hadoop.Stop(stopping))
	})
	return hadoop
}

func TestDaemonsConform(t *testing.T) {
	hadoop := start(t)
	settings, err := conf.Load(hadoop.ConfDir())
	require.NoError(t, err)
	current, err := user.Current()
	require.NoError(t, err)
	rest, err := yarnrest.FromConf(settings, yarnrest.Options{User: current.Username})
	require.NoError(t, err)

	s := &conformance.System{User: current.Username}
	s.Scheduler, err = settings.ResourceManagers("yarn.resourcemanager.scheduler.address")
	require.NoError(t, err)
	s.Client, err = settings.ResourceManagers("yarn.resourcemanager.address")
	require.NoError(t, err)
	nodes := map[string]*cluster.Node{}
	for _, node := range hadoop.Nodes() {
		nodes[node.Host] = node
		s.Hosts = append(s.Hosts, conformance.Host{Name: node.Host, Rack: node.Rack})
	}
	s.Submit = func(ctx context.Context) (yarn.ApplicationID, error) {
		fresh, err := rest.NewApplication(ctx)
		if err != nil {
			return yarn.ApplicationID{}, err
		}
		err = rest.SubmitApplication(ctx, &yarnrest.SubmissionContext{
			ID: fresh.ID, Name: t.Name(), UnmanagedAM: true, Resource: yarnrest.Resource{MemoryMB: 128, VCores: 1},
		})
		if err != nil {
			return yarn.ApplicationID{}, err
		}
		return yarn.ParseApplicationID(fresh.ID)
	}
	s.Kill = func(ctx context.Context, id yarn.ApplicationID) error { return rest.Kill(ctx, id.String(), "") }
	s.RestartMaster = func(ctx context.Context) error {
		if err := hadoop.ResourceManager().Kill(); err != nil {
			return err
		}
		if err := hadoop.ResourceManager().Start(ctx); err != nil {
			return err
		}
		return hadoop.WaitReady(ctx)
	}
	s.StopNode = func(_ context.Context, host string) error { return nodes[host].NodeManager.Kill() }
	s.StartNode = func(ctx context.Context, host string) error { return nodes[host].NodeManager.Start(ctx) }
	for _, test := range conformance.Tests() {
		t.Run(test.Name, func(t *testing.T) { test.Run(t, s) })
	}
}
