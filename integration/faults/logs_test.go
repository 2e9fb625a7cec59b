//go:build integration

package faults

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/containers"
)

// TestLogsAreAggregated reads the logs of an application after NodeManagers have moved them to
// HDFS, in each of YARN's log formats.
func TestLogsAreAggregated(t *testing.T) {
	t.Run("TFile", testAggregatedLogs)
	t.Run("IFile", func(t *testing.T) {
		t.Cleanup(func() { heal(t) })
		restart(t, map[string]string{"yarn.log-aggregation.file-formats": "IFile,TFile"}, containers.Workers()...)
		testAggregatedLogs(t)
	})
}

// testAggregatedLogs runs a job with one executor on each worker. With smaller executors, YARN
// might allocate a container that the driver never starts, for whose logs the ResourceManager
// would wait ten minutes.
func testAggregatedLogs(t *testing.T) {
	j := startHeld(t, oneExecutorPerWorker...)
	j.awaitHalfDone(t)
	j.release(t)
	j.assertCorrect(t)
	await(t, "the logs are aggregated", func(ctx context.Context) bool {
		known, err := shared.rest.Application(ctx, j.id)
		return err == nil && known.LogAggregationStatus == "SUCCEEDED"
	})
	for _, worker := range containers.Workers() {
		await(t, "the NodeManager has removed its own copy", func(ctx context.Context) bool {
			left, err := shared.cluster.Host(worker).Run(ctx, "find", "/hadoop/logs", "-type", "f", "-path", "*"+j.id+"*")
			return err == nil && left == ""
		})
	}
	text, complaints, err := j.logs(t.Context())
	require.NoError(t, err, complaints)
	for portion := range countingTasks {
		assert.Contains(t, text, fmt.Sprintf("counted portion %d\n", portion))
	}
}
