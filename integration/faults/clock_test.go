//go:build integration

package faults

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
)

// roomForOne lets one executor onto each worker.
var roomForOne = []string{"--executor-memory", "3g"}

// TestWorkerIsAhead has a worker come up in mid-job whose daemons believe that it
// is an hour later. Its NodeManager takes all container tokens, which are good
// for ten minutes, for expired; the job does without it, and says why.
func TestWorkerIsAhead(t *testing.T) {
	j := startHeld(t, roomForOne...)
	worker := j.another(t, j.awaitMiddle(t))
	require.NoError(t, worker.Kill(t.Context()))
	require.NoError(t, worker.SetClock(t.Context(), time.Hour))
	require.NoError(t, worker.Start(t.Context()))
	j.awaitStatus(t, "the worker that is ahead is excluded", excludes(worker.Name))
	j.release(t)
	j.assertRight(t)
	assert.Equal(t, 1, j.attempts(t))
	j.awaitLogs(t, "why the worker was of no use", regexp.MustCompile(worker.Name+`.*(?i)token.*expired`).MatchString)
}

// TestWorkerIsBehind has a worker come up whose daemons believe that it is an
// hour earlier: nothing is too early for anybody.
func TestWorkerIsBehind(t *testing.T) {
	j := startHeld(t, roomForOne...)
	worker := j.another(t, j.awaitMiddle(t))
	require.NoError(t, worker.Kill(t.Context()))
	j.awaitStatus(t, "the killed worker's executor is given up", lost(worker.Name))
	require.NoError(t, worker.SetClock(t.Context(), -time.Hour))
	require.NoError(t, worker.Start(t.Context()))
	j.awaitStatus(t, "an executor runs on the worker that is behind", func(status page.Status) bool {
		return status.Executors.Running == 3 && !lost(worker.Name)(status)
	})
	j.release(t)
	j.assertRight(t)
	assert.Equal(t, 1, j.attempts(t))
}
