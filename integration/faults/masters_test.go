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

// active waits for the active ResourceManager and returns it.
func active(t *testing.T) *containers.Host {
	t.Helper()
	var found *containers.Host
	await(t, "a ResourceManager is active", func(ctx context.Context) bool {
		found = shared.cluster.Active(ctx)
		return found != nil
	})
	return found
}

// standby returns the other ResourceManager.
func standby(t *testing.T) *containers.Host {
	t.Helper()
	if active(t).Name == containers.ResourceManager {
		return shared.cluster.Host(containers.SecondResourceManager)
	}
	return shared.cluster.Host(containers.ResourceManager)
}

// TestResourceManagerFailsOver kills the active ResourceManager.
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

// TestResourceManagerIsRestarted kills the only ResourceManager, which recovers the
// application from its state store.
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

// TestNameNodeIsRestarted kills the NameNode while tasks wait for a file in it.
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
