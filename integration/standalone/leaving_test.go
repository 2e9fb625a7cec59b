//go:build integration

package standalone

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDataOfDecommissionedExecutorsIsMoved has executors leave one after the other, by the signal
// that asks for it, between the jobs of a program: nothing is computed twice.
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
