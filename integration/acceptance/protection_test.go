//go:build integration

package acceptance

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// TestProtectedRPC runs an application on clusters whose daemons sign or encrypt RPC
// with ApplicationMasters.
func TestProtectedRPC(t *testing.T) {
	t.Parallel()
	for _, protection := range []string{"integrity", "privacy"} {
		t.Run(protection, func(t *testing.T) {
			options := clusterOptions()
			options.Core = cluster.Properties{"hadoop.rpc.protection": protection}
			options.Nodes = []cluster.NodeSpec{{Host: "127.0.0.31", Rack: "/only"}}
			protected, stop, err := startCluster(options)
			require.NoError(t, err)
			defer func() { assert.NoError(t, stop()) }()

			environment := []string{"HADOOP_CONF_DIR=" + protected.ConfDir()}
			done := call{args: []string{"submit", "--num-executors", "2", program("pi"), "8"}, environment: environment}.run(t)
			require.Equal(t, 0, done.code)
			assert.Regexp(t, `tasks +8 in 1 task set`, done.stderr)
			logs := call{args: []string{"logs", done.applicationID(t)}, environment: environment}.run(t)
			assert.Contains(t, logs.stdout, "Pi is roughly 3.14")
		})
	}
}
