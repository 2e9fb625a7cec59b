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

// oneExecutorPerWorker are flags for executors so large that each worker has room for only one.
var oneExecutorPerWorker = []string{"--executor-memory", "3g"}

// TestWorkerClockIsAhead restarts a worker during a job with a clock one hour ahead. Container
// tokens are valid for ten minutes, so its NodeManager rejects them as expired. The job must
// exclude the worker and log the reason.
func TestWorkerClockIsAhead(t *testing.T) {
	j := startHeld(t, oneExecutorPerWorker...)
	worker := j.workerWithoutMaster(t, j.awaitHalfDone(t))
	require.NoError(t, worker.Kill(t.Context()))
	require.NoError(t, worker.SetClock(t.Context(), time.Hour))
	require.NoError(t, worker.Start(t.Context()))
	j.awaitStatus(t, "the worker that is ahead is excluded", isExcluded(worker.Name))
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 1, j.attempts(t))
	j.awaitLogs(t, "the reason of the exclusion is logged", regexp.MustCompile(worker.Name+`.*(?i)token.*expired`).MatchString)
}

// TestWorkerClockIsBehind restarts a worker during a job with a clock one hour behind. The
// worker must run executors as before.
func TestWorkerClockIsBehind(t *testing.T) {
	j := startHeld(t, oneExecutorPerWorker...)
	worker := j.workerWithoutMaster(t, j.awaitHalfDone(t))
	require.NoError(t, worker.Kill(t.Context()))
	j.awaitStatus(t, "the killed worker's executor is lost", isLost(worker.Name))
	require.NoError(t, worker.SetClock(t.Context(), -time.Hour))
	require.NoError(t, worker.Start(t.Context()))
	j.awaitStatus(t, "an executor runs on the worker that is behind", func(status page.Status) bool {
		return status.Executors.Running == 3 && !isLost(worker.Name)(status)
	})
	j.release(t)
	j.assertCorrect(t)
	assert.Equal(t, 1, j.attempts(t))
}
