//go:build integration

package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWorkerHasAnotherTime has a worker come up in mid-job whose daemons believe
// that it is an hour later or earlier. Later than a container token's ten
// minutes, its NodeManager refuses to start containers; the job does without it.
func TestWorkerHasAnotherTime(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"later": time.Hour, "earlier": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			j := startJob(t, 3*time.Second)
			worker := j.another(t, j.awaitMiddle(t))
			require.NoError(t, worker.Kill(t.Context()))
			require.NoError(t, worker.SetClock(t.Context(), ahead))
			require.NoError(t, worker.Start(t.Context()))
			j.assertRight(t)
			assert.Equal(t, 1, j.attempts(t))
		})
	}
}
