//go:build integration

package faults

import (
	"context"
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
	_, err := worker.Run(t.Context(), "sh", "-c", "dd if=/dev/zero of=/hadoop/local/filler bs=4k 2>&1 | grep 'No space left'")
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := worker.Run(ctx, "rm", "-f", "/hadoop/local/filler")
		assert.NoError(t, err)
	})
	return worker
}

// fillDiskUnnoticed has the NodeManager of the worker with a full disk offer
// what it cannot hold.
func fillDiskUnnoticed(t *testing.T) *containers.Host {
	t.Helper()
	t.Cleanup(func() { heal(t) })
	restart(t, map[string]string{"yarn.nodemanager.disk-health-checker.enable": "false"}, smallDisk)
	return fillDisk(t)
}

// TestDiskFillsUp has a worker's disk fill in mid-job: its NodeManager notices,
// and takes no part any more.
func TestDiskFillsUp(t *testing.T) {
	j := startHeld(t)
	j.awaitMiddle(t)
	fillDisk(t)
	await(t, "the NodeManager finds its disk full", func(ctx context.Context) bool {
		unhealthy, err := shared.rest.Nodes(ctx, "UNHEALTHY")
		return err == nil && len(unhealthy) == 1
	})
	j.release(t)
	j.assertRight(t)
}

// TestDiskIsFull has executors that cannot start on a worker; others make up for
// them.
func TestDiskIsFull(t *testing.T) {
	fillDiskUnnoticed(t)
	j := startJob(t, 500*time.Millisecond)
	j.assertRight(t)
}

// TestAllDisksAreFull has no worker that could start an executor: the user hears
// why.
func TestAllDisksAreFull(t *testing.T) {
	worker := fillDiskUnnoticed(t)
	j := startJob(t, 500*time.Millisecond, "--conf", "yarn.exclude.nodes=worker-1,worker-2", "--conf", "yarn.maxAppAttempts=1")
	assert.Equal(t, 1, j.wait(t))
	assert.Contains(t, j.stderr.String(), "No space available in any of the local directories")
	assert.Contains(t, j.stderr.String(), worker.Name)
}
