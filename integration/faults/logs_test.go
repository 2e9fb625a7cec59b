//go:build integration

package faults

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/containers"
)

// TestLogsAreAggregated reads the logs of an application whose NodeManagers have
// moved them to HDFS, as YARN does by default for clusters in use, in each of
// the formats that it writes.
func TestLogsAreAggregated(t *testing.T) {
	for format, formats := range map[string]string{"TFile": "TFile,IFile", "IFile": "IFile,TFile"} {
		t.Run(format, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			t.Cleanup(func() { heal(t) })
			for _, worker := range containers.Workers() {
				host := shared.cluster.Host(worker)
				require.NoError(t, host.Stop(ctx))
				require.NoError(t, host.Override(ctx, map[string]string{"yarn.log-aggregation.file-formats": formats}))
				require.NoError(t, host.Start(ctx))
			}
			require.NoError(t, shared.cluster.WaitReady(ctx))
			j := startJob(t, 100*time.Millisecond)
			j.assertRight(t)
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
			text := j.logs(t)
			for portion := range 24 {
				assert.Contains(t, text, fmt.Sprintf("counted portion %d\n", portion))
			}
		})
	}
}
