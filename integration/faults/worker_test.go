//go:build integration

package faults

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/am/page"
)

// isLost returns a condition for awaitStatus: every executor on the host is lost.
func isLost(host string) func(page.Status) bool {
	return func(status page.Status) bool {
		for _, executor := range status.Details {
			if executor.Host == host && executor.Reason == "" {
				return false
			}
		}
		return true
	}
}

// isExcluded returns a condition for awaitStatus: the application excludes the host.
func isExcluded(host string) func(page.Status) bool {
	return func(status page.Status) bool {
		return slices.ContainsFunc(status.Exclusions, func(e allocator.Exclusion) bool { return e.Host == host })
	}
}

func TestWorkerIsKilled(t *testing.T) {
	j := startHeld(t)
	worker := j.workerWithoutMaster(t, j.awaitHalfDone(t))
	require.NoError(t, worker.Kill(t.Context()))
	await(t, "the ResourceManager has lost "+worker.Name, func(ctx context.Context) bool {
		gone, err := shared.rest.Nodes(ctx, "LOST")
		return err == nil && len(gone) == 1
	})
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 1, j.attempts(t))
}

// TestWorkerIsPaused pauses a worker until its executor counts as lost. The worker's
// connections stay open.
func TestWorkerIsPaused(t *testing.T) {
	j := startHeld(t)
	worker := j.workerWithoutMaster(t, j.awaitHalfDone(t))
	require.NoError(t, worker.Pause(t.Context()))
	j.awaitStatus(t, "the paused worker's executor is lost", isLost(worker.Name))
	require.NoError(t, worker.Unpause(t.Context()))
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 1, j.attempts(t))
}

// TestWorkerIsCutOff disconnects a worker until its executor counts as lost. Results of tasks
// that end on the worker in this time must not be counted twice.
func TestWorkerIsCutOff(t *testing.T) {
	j := startHeld(t)
	worker := j.workerWithoutMaster(t, j.awaitHalfDone(t))
	require.NoError(t, worker.Disconnect(t.Context()))
	j.awaitStatus(t, "the disconnected worker's executor is lost", isLost(worker.Name))
	require.NoError(t, worker.Reconnect(t.Context()))
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 1, j.attempts(t))
}

// TestApplicationMastersHostIsKilled checks that a second attempt completes the job.
func TestApplicationMastersHostIsKilled(t *testing.T) {
	j := startHeld(t)
	j.awaitHalfDone(t)
	require.NoError(t, j.workerWithMaster(t).Kill(t.Context()))
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 2, j.attempts(t))
}
