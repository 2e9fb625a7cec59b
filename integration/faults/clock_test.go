//go:build integration

package faults

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// roomForOne lets one executor onto each worker.
var roomForOne = []string{"--executor-memory", "3g"}

// TestWorkerIsAhead has a worker come up in mid-job whose daemons believe that it
// is an hour later. Its NodeManager takes all container tokens, which are good
// for ten minutes, for expired; the job does without it, and says why.
func TestWorkerIsAhead(t *testing.T) {
	j := startJob(t, 3*time.Second, roomForOne...)
	worker := j.another(t, j.awaitMiddle(t))
	require.NoError(t, worker.Kill(t.Context()))
	require.NoError(t, worker.SetClock(t.Context(), time.Hour))
	require.NoError(t, worker.Start(t.Context()))
	j.assertRight(t)
	assert.Equal(t, 1, j.attempts(t))
	assert.Regexp(t, worker.Name+`.*(?i)token.*expired`, j.logs(t))
}

// TestWorkerIsBehind has a worker come up whose daemons believe that it is an
// hour earlier: nothing is too early for anybody.
func TestWorkerIsBehind(t *testing.T) {
	j := startJob(t, 3*time.Second, roomForOne...)
	worker := j.another(t, j.awaitMiddle(t))
	require.NoError(t, worker.Kill(t.Context()))
	require.NoError(t, worker.SetClock(t.Context(), -time.Hour))
	require.NoError(t, worker.Start(t.Context()))
	j.assertRight(t)
	assert.Equal(t, 1, j.attempts(t))
}
