package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIntervalsOfNothingAreRefused(t *testing.T) {
	for _, key := range []string{
		"yarn.scheduler.heartbeat.interval", "yarn.scheduler.initialAllocation.interval", "executor.heartbeatInterval", "network.timeout",
		"yarn.report.interval", "speculation.interval", "recovery.etcd.timeout", "worker.cleanup.interval",
	} {
		for _, value := range []string{"0", "0s", "999us"} {
			_, err := FromMap(map[string]string{key: value})
			require.ErrorContains(t, err, key+`="`+value+`" (from the submission): want 1ms or more`)
		}
	}
}

func TestHeartbeatsComeBeforeTheirTimeout(t *testing.T) {
	_, err := FromMap(map[string]string{"executor.heartbeatInterval": "61s"})
	require.ErrorContains(t, err, "executor.heartbeatInterval=61s (from the submission) must be at most half of network.timeout=120s (from default)")
	_, err = FromMap(map[string]string{"executor.heartbeatInterval": "61s", "network.timeout": "122s"})
	require.NoError(t, err)

	c, err := FromMap(map[string]string{"yarn.scheduler.heartbeat.interval": "30s"})
	require.NoError(t, err)
	require.NoError(t, CheckHeartbeat(c, time.Minute))
	require.EqualError(t, CheckHeartbeat(c, 50*time.Second), "yarn.scheduler.heartbeat.interval=30s (from the submission) is more than half of "+
		"yarn.am.liveness-monitor.expiry-interval-ms (50s): want 25s at the most")
}
