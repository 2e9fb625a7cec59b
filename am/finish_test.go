package am

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
)

// TestUnregisterAfterRestart restarts the ResourceManager between the last heartbeat and
// the call that unregisters the application.
func TestUnregisterAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, err := yarntest.New(yarntest.Options{})
		require.NoError(t, err)
		defer cluster.Close()
		application := cluster.Submit(yarntest.Submission{Managed: true, Resource: yarn.Resource{MemoryMB: 1024, VCores: 1}})
		require.NoError(t, cluster.Await(t.Context(), func(v yarntest.View) bool { return v.Application(application.ID()).Launched }))
		rm := yarn.NewAMClient(cluster.SchedulerAddresses(), application.Options())
		defer func() { _ = rm.Close() }()
		logger := slog.New(slog.DiscardHandler)
		m := &applicationMaster{Attempt: &Attempt{Logger: logger}, rm: rm, allocator: allocator.New(allocator.Options{
			ResourceManager: rm, Registration: yarn.RegisterRequest{Host: "node-0001", RPCPort: -1},
			Settings: config.Default(), Hadoop: conf.FromMap(nil), Logger: logger,
		})}
		require.NoError(t, m.allocator.Register(t.Context()))
		cluster.Restart(45 * time.Second)
		require.True(t, m.unregister(t.Context(), yarn.FinishRequest{Status: yarn.FinalSucceeded, Diagnostics: "all is well"}))
		cluster.Inspect(func(v yarntest.View) {
			status := v.Application(application.ID())
			require.Equal(t, yarn.FinalSucceeded, status.Final)
			require.Equal(t, "all is well", status.Diagnostics)
			require.Equal(t, 1, status.Attempts)
		})
	})
}

func TestHistoryURL(t *testing.T) {
	for address, want := range map[string]string{
		"": "", "history:18480": "http://history:18480/application_1_0001/2/", "https://proxy/bobbin/": "https://proxy/bobbin/application_1_0001/2/",
	} {
		settings, err := config.FromMap(map[string]string{"yarn.historyServer.address": address})
		require.NoError(t, err)
		require.Equal(t, want, historyURL(settings, "application_1_0001", 2))
	}
	settings, err := config.FromMap(map[string]string{"yarn.historyServer.address": "history:18480", "eventLog.enabled": "false"})
	require.NoError(t, err)
	require.Empty(t, historyURL(settings, "application_1_0001", 2), "there is nothing to show")
}
