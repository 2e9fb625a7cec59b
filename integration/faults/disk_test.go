//go:build integration

package faults

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/containers"
)

// fillDisk fills the disk of the worker smallDisk until the test ends, and returns the worker.
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

// A job with wholeWorkerDriver has an ApplicationMaster that fills one worker. If the worker
// smallDisk has the properties smallWorker, the other large worker has room for two executors
// and smallDisk for one, so the job's three executors need smallDisk.
var (
	wholeWorkerDriver = []string{"--driver-memory", "3g"}
	smallWorker       = map[string]string{"yarn.nodemanager.resource.memory-mb": "2048"}
)

// fillDiskUnnoticed fills the disk of the worker smallDisk, whose NodeManager does not check
// its disk.
func fillDiskUnnoticed(t *testing.T) *containers.Host {
	t.Helper()
	t.Cleanup(func() { heal(t) })
	properties := maps.Clone(smallWorker)
	properties["yarn.nodemanager.disk-health-checker.enable"] = "false"
	restart(t, properties, smallDisk)
	return fillDisk(t)
}

// TestDiskFillsUp fills a worker's disk during a job. The NodeManager becomes unhealthy, and
// the executor on the worker is lost.
func TestDiskFillsUp(t *testing.T) {
	t.Cleanup(func() { heal(t) })
	restart(t, smallWorker, smallDisk)
	j := startHeld(t, wholeWorkerDriver...)
	j.awaitHalfDone(t)
	worker := fillDisk(t)
	await(t, "the NodeManager finds its disk full", func(ctx context.Context) bool {
		unhealthy, err := shared.rest.Nodes(ctx, "UNHEALTHY")
		return err == nil && len(unhealthy) == 1
	})
	now := j.awaitStatus(t, "the executor there is lost", isLost(worker.Name))
	assert.True(t, slices.ContainsFunc(now.Details, func(executor page.ExecutorDetail) bool { return executor.Host == worker.Name }), "there was one")
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 1, j.attempts(t))
}

// TestDiskIsFull checks that a job excludes a worker on which executors cannot start.
func TestDiskIsFull(t *testing.T) {
	worker := fillDiskUnnoticed(t)
	j := startHeld(t, wholeWorkerDriver...)
	j.awaitStatus(t, "the worker is excluded", isExcluded(worker.Name))
	j.release(t)
	j.assertCorrect(t)
}

// TestAllDisksAreFull checks that a job fails with the reason if executors cannot start on any
// worker.
func TestAllDisksAreFull(t *testing.T) {
	worker := fillDiskUnnoticed(t)
	j := startHeld(t, append(wholeWorkerDriver, "--conf", "yarn.exclude.nodes=worker-1,worker-2", "--conf", "yarn.maxAppAttempts=1")...)
	assert.Equal(t, 1, j.wait(t))
	assert.Contains(t, j.stderr.String(), "No space available in any of the local directories")
	assert.Contains(t, j.stderr.String(), worker.Name)
}
