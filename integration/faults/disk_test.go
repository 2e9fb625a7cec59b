//go:build integration

package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/containers"
)

// fillDisk leaves a worker no room for containers, until the test ends.
func fillDisk(t *testing.T) *containers.Host {
	t.Helper()
	worker := shared.cluster.Host(smallDisk)
	_, err := worker.Run(t.Context(), "sh", "-c", "dd if=/dev/zero of=/hadoop/local/filler bs=64k 2>&1 | grep 'No space left'")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := worker.Run(t.Context(), "rm", "/hadoop/local/filler")
		assert.NoError(t, err)
	})
	return worker
}

// TestDiskFillsUp has a worker's disk fill in mid-job: its NodeManager notices,
// and takes no part any more.
func TestDiskFillsUp(t *testing.T) {
	j := startJob(t, 2*time.Second)
	j.awaitMiddle(t)
	fillDisk(t)
	j.assertRight(t)
}

// TestDiskIsFullAndNobodyLooks has a NodeManager that offers what it cannot
// hold: its executors cannot start, which others make up for; where there are no
// others, the user hears why.
func TestDiskIsFullAndNobodyLooks(t *testing.T) {
	t.Cleanup(func() { heal(t) })
	worker := shared.cluster.Host(smallDisk)
	require.NoError(t, worker.Stop(t.Context()))
	require.NoError(t, worker.Override(t.Context(), map[string]string{"yarn.nodemanager.disk-health-checker.enable": "false"}))
	require.NoError(t, worker.Start(t.Context()))
	require.NoError(t, shared.cluster.WaitReady(t.Context()))
	fillDisk(t)

	t.Run("others have room", func(t *testing.T) {
		j := startJob(t, 500*time.Millisecond)
		j.assertRight(t)
	})
	t.Run("no other", func(t *testing.T) {
		j := startJob(t, 500*time.Millisecond, "--conf", "yarn.exclude.nodes=worker-1,worker-2", "--conf", "yarn.maxAppAttempts=1")
		assert.Equal(t, 1, j.wait(t))
		assert.Contains(t, j.stderr.String(), "No space left on device")
		assert.Contains(t, j.stderr.String(), worker.Name)
	})
}
