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

// TestWorkersAreInTheirRacks checks the racks that the ResourceManager has resolved from the
// workers' addresses, which Docker assigns when the hosts start.
func TestWorkersAreInTheirRacks(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nodes, err := shared.rest.Nodes(ctx, "RUNNING")
	require.NoError(t, err)
	found := map[string]string{}
	for _, node := range nodes {
		found[node.Host] = node.Rack
	}
	assert.Equal(t, containers.Racks(), found)
}
