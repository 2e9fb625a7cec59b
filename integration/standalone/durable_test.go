//go:build integration

package standalone

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReplicatedPartitionsSurviveExecutors checks that no partition is computed again in two
// cases: if partitions are stored on both executors, and first one executor and later the other
// is lost; and if the data have a checkpoint and both executors are lost at once.
func TestReplicatedPartitionsSurviveExecutors(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"stored": "1 0\n1 0\n", "checkpoint": "2 0\n"} {
		t.Run(mode, func(t *testing.T) {
			s := newSite(t, 0, nil)
			settings := map[string]string{"master": "local-cluster[2,1,128]", "executor.memory": "96m", "executor.cores": "1"}
			a := s.run(t, settings, "durable", mode, t.TempDir())
			require.Zero(t, a.wait(t, testTimeout), "%s", a.stderr.text())
			require.Equal(t, want, a.stdout.text())
		})
	}
}
