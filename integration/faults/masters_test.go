//go:build integration

package faults

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/containers"
)

// active waits until a ResourceManager is active, and returns its host.
func active(t *testing.T) *containers.Host {
	t.Helper()
	var found *containers.Host
	await(t, "a ResourceManager is active", func(ctx context.Context) bool {
		found = shared.cluster.Active(ctx)
		return found != nil
	})
	return found
}

// standby returns the host of the ResourceManager that is not active.
func standby(t *testing.T) *containers.Host {
	t.Helper()
	if active(t).Name == containers.ResourceManager {
		return shared.cluster.Host(containers.SecondResourceManager)
	}
	return shared.cluster.Host(containers.ResourceManager)
}

// TestResourceManagerFailsOver kills the active ResourceManager. The standby must take over and
// recover the application.
func TestResourceManagerFailsOver(t *testing.T) {
	j := startHeld(t)
	j.awaitHalfDone(t)
	first := active(t)
	require.NoError(t, first.Kill(t.Context()))
	second := active(t)
	assert.NotEqual(t, first.Name, second.Name)
	j.awaitStatus(t, "the other ResourceManager knows it", func(page.Status) bool { return true })
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 1, j.attempts(t), "the ApplicationMaster went on")
}

// TestResourceManagerIsRestarted kills and restarts the only running ResourceManager, which
// must recover the application from its state store.
func TestResourceManagerIsRestarted(t *testing.T) {
	require.NoError(t, standby(t).Stop(t.Context()))
	j := startHeld(t)
	j.awaitHalfDone(t)
	only := active(t)
	require.NoError(t, only.Kill(t.Context()))
	require.NoError(t, only.Start(t.Context()))
	j.awaitStatus(t, "the ResourceManager knows it again", func(page.Status) bool { return true })
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 1, j.attempts(t), "the ApplicationMaster went on")
}

// TestNameNodeIsRestarted kills and restarts the NameNode while tasks poll for a file in HDFS.
func TestNameNodeIsRestarted(t *testing.T) {
	j := startHeld(t)
	j.awaitHalfDone(t)
	nameNode := shared.cluster.Host(containers.NameNode)
	require.NoError(t, nameNode.Kill(t.Context()))
	require.NoError(t, nameNode.Start(t.Context()))
	require.NoError(t, shared.cluster.WaitReady(t.Context()))
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 1, j.attempts(t))
}
