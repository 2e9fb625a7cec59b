//go:build integration

package standalone

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDataOfDecommissionedExecutorsIsMoved runs a program that decommissions executors one
// after the other between its jobs. Nothing may be computed again.
func TestDataOfDecommissionedExecutorsIsMoved(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1, nil)
	s.startMasters(t)
	for range 3 {
		s.startWorker(t, 1)
	}
	s.awaitWorkers(t, 3)
	a := s.run(t, map[string]string{"executor.instances": "3"}, "leaving", "12")
	require.Zero(t, a.wait(t, testTimeout), "%s", a.stderr.text())
	assert.Equal(t, "sums [{0 23994000} {1 23998000} {2 24002000}] of 12000 map tasks 12 cached 12 map stages [12]",
		strings.TrimSpace(a.stdout.text()))
	assert.NotContains(t, a.stderr.text(), "cannot be moved")
}
