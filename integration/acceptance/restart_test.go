//go:build integration

package acceptance

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// TestApplicationOutlivesItsResourceManager restarts a ResourceManager that
// remembers its applications while one runs, and then has the application ask
// the new one for an executor.
func TestApplicationOutlivesItsResourceManager(t *testing.T) {
	t.Parallel()
	options := clusterOptions()
	options.Nodes = []cluster.NodeSpec{{Host: "127.0.0.41", Rack: "/only"}}
	options.YARN = cluster.Properties{
		"yarn.resourcemanager.recovery.enabled": "true",
		"yarn.resourcemanager.store.class":      "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
	}
	hadoop, stop, err := startCluster(options)
	require.NoError(t, err)
	defer func() { assert.NoError(t, stop()) }()
	other, err := connect(hadoop)
	require.NoError(t, err)
	defer func() { assert.NoError(t, other.files.Close()) }()

	signal := other.data + "/signal"
	running := call{
		args:        []string{"submit", "--num-executors", "2", program("trouble"), "until", signal},
		environment: []string{"HADOOP_CONF_DIR=" + hadoop.ConfDir()},
	}.start(t)
	id := running.applicationID(t)
	other.awaitStatus(t, id, "tasks run", func(status am.Status) bool { return status.Tasks.Running == 2 })

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, hadoop.ResourceManager().Kill())
	executors := inRole(id, launch.RoleExecutor, "trouble")
	require.Len(t, executors, 2)
	require.NoError(t, syscall.Kill(executors[0].pid, syscall.SIGKILL))
	require.NoError(t, hadoop.ResourceManager().Start(ctx))
	require.NoError(t, hadoop.WaitReady(ctx))

	other.awaitStatus(t, id, "both tasks run again", func(status am.Status) bool {
		return status.Executors.Failed == 1 && status.Tasks.Running == 2
	})
	require.NoError(t, other.put(ctx, signal, nil))
	done := running.wait(t)
	assert.Equal(t, 0, done.code)
	attempts, err := other.rest.Attempts(ctx, id)
	require.NoError(t, err)
	assert.Len(t, attempts, 1, "the ApplicationMaster went on")
	assert.Contains(t, done.stderr, "the ResourceManager answers again")
}
