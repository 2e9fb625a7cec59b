package main

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestWhatAContainerReaches(t *testing.T) {
	settings, err := config.FromMap(map[string]string{"driver.host": "127.0.0.1"})
	require.NoError(t, err)
	here, err := listenAsDriver(t.Context(), nil, settings)
	require.NoError(t, err)
	defer here.close()
	unused, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := unused.Addr().String()
	require.NoError(t, unused.Close())
	answers, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = answers.Close() }()

	what := reachTargets{Directory: t.TempDir(), Client: here.address, Servers: []reachedServer{
		{Name: "ResourceManager", Addresses: []string{closed, answers.Addr().String()}},
		{Name: "NameNode " + closed, Addresses: []string{closed}},
	}}
	run := func(what reachTargets) (found reachReport) {
		require.NoError(t, bobbin.RunLocal(t.Context(), "local[1]", func(ctx context.Context) error {
			session, err := bobbin.NewSession(ctx)
			require.NoError(t, err)
			defer session.Close()
			all, err := reachTask.Run(ctx, session, []reachTargets{what})
			found = all[0]
			return err
		}))
		return found
	}
	found := run(what)
	require.Len(t, found.Problems, 1)
	require.Regexp(t, "^the NameNode "+closed+": .*refused", found.Problems[0])
	require.NoError(t, here.reached())

	what.Directory += "/missing/\x00"
	what.Servers = nil
	found = run(what)
	require.Len(t, found.Problems, 1)
	require.Regexp(t, "^a block in HDFS: ", found.Problems[0])

	nobody, err := listenAsDriver(t.Context(), nil, settings)
	require.NoError(t, err)
	defer nobody.close()
	require.ErrorContains(t, nobody.reached(), "none has connected to "+nobody.address)
	_, err = listenAsDriver(t.Context(), nil, mustWith(t, settings, "driver.bindAddress", "192.0.2.1"))
	require.Error(t, err, "that address is of no machine")
}

func mustWith(t *testing.T, settings *config.Config, key, value string) *config.Config {
	t.Helper()
	changed, err := settings.With(map[string]string{key: value})
	require.NoError(t, err)
	return changed
}

func TestNodesOfAnUnknownCluster(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", t.TempDir())
	settings, err := config.FromMap(nil)
	require.NoError(t, err)
	findings := examineFromNode(t.Context(), terminal{console: client.NewConsole(t.Output())}, settings)
	require.Len(t, findings, 1)
	require.Equal(t, client.LevelProblem, findings[0].Level)
	require.Equal(t, fromNode, findings[0].Check)
}
