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

// lost says whether a host has no executor any more.
func lost(host string) func(page.Status) bool {
	return func(status page.Status) bool {
		for _, executor := range status.Details {
			if executor.Host == host && executor.Reason == "" {
				return false
			}
		}
		return true
	}
}

// excludes says whether no executor is wanted on a host any more.
func excludes(host string) func(page.Status) bool {
	return func(status page.Status) bool {
		return slices.ContainsFunc(status.Exclusions, func(e allocator.Exclusion) bool { return e.Host == host })
	}
}

// TestWorkerIsKilled cuts a worker's power.
func TestWorkerIsKilled(t *testing.T) {
	j := startHeld(t)
	worker := j.another(t, j.awaitMiddle(t))
	require.NoError(t, worker.Kill(t.Context()))
	await(t, "the ResourceManager has given up "+worker.Name, func(ctx context.Context) bool {
		gone, err := shared.rest.Nodes(ctx, "LOST")
		return err == nil && len(gone) == 1
	})
	j.release(t)
	j.assertRight(t)
	assert.Equal(t, 1, j.attempts(t))
}

// TestWorkerIsPaused has a worker say nothing, with all its connections open,
// and go on when it has been given up.
func TestWorkerIsPaused(t *testing.T) {
	j := startHeld(t)
	worker := j.another(t, j.awaitMiddle(t))
	require.NoError(t, worker.Pause(t.Context()))
	j.awaitStatus(t, "the paused worker's executor is given up", lost(worker.Name))
	require.NoError(t, worker.Unpause(t.Context()))
	j.release(t)
	j.assertRight(t)
	assert.Equal(t, 1, j.attempts(t))
}

// TestWorkerIsCutOff takes a worker off the network, and puts it back when it
// has been given up: what it did meanwhile must not count twice.
func TestWorkerIsCutOff(t *testing.T) {
	j := startHeld(t)
	worker := j.another(t, j.awaitMiddle(t))
	require.NoError(t, worker.Cut(t.Context()))
	j.awaitStatus(t, "the executor of the worker that is cut off is given up", lost(worker.Name))
	require.NoError(t, worker.Mend(t.Context()))
	j.release(t)
	j.assertRight(t)
	assert.Equal(t, 1, j.attempts(t))
}

// TestApplicationMastersHostIsKilled has a second attempt do the job.
func TestApplicationMastersHostIsKilled(t *testing.T) {
	j := startHeld(t)
	j.awaitMiddle(t)
	require.NoError(t, j.master(t).Kill(t.Context()))
	j.release(t)
	j.assertRight(t)
	assert.Equal(t, 2, j.attempts(t))
}
