package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/masterurl"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

// attachWorker connects a fake worker to the master until the test ends. It returns a function that
// returns the master's next order to the worker.
func attachWorker(t *testing.T, url string, hello *protocol.WorkerHello) func() *protocol.WorkerOrder {
	t.Helper()
	addresses, err := masterurl.ParseStandalone(url)
	require.NoError(t, err)
	credentials, err := protocol.Load(config.Default())
	require.NoError(t, err)
	masters := protocol.NewMasters(addresses, credentials.DialOptions())
	t.Cleanup(masters.Close)
	connection, err := masters.Connection(addresses[0])
	require.NoError(t, err)
	stream, err := protocol.NewWorkerClient(connection).Attach(t.Context())
	require.NoError(t, err)
	hello.Version = protocol.Version
	require.NoError(t, stream.Send(&protocol.WorkerMessage{Hello: hello}))
	next := func() *protocol.WorkerOrder {
		order, err := stream.Recv()
		require.NoError(t, err)
		return order
	}
	require.NotNil(t, next().GetWelcome())
	return next
}

func TestDecommission(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	url := runMaster(t)
	code, _, stderr := run("decommission", "--master", url, "node-7")
	require.Equal(t, client.ExitCluster, code)
	require.Contains(t, stderr, `"node-7" is no worker of the cluster, which has none`)

	next := attachWorker(t, url, &protocol.WorkerHello{WorkerId: "worker-7", Host: "node-7", Cores: 1})
	require.Equal(t, []string{"worker-7\tALIVE on node-7, executors: 0", "node-7"}, complete(t, "decommission", "--master", url, ""))
	require.Equal(t, []string{"node-7"}, complete(t, "decommission", "--master", url, "n"))
	require.Equal(t, []string{"node-7"}, complete(t, "decommission", "--master", url, "worker-7", ""), "each once")

	code, stdout, stderr := run("decommission", "--master", url, "node-7")
	require.Zero(t, code, stderr)
	require.Empty(t, stdout)
	require.Equal(t, "worker-7 on node-7 is being decommissioned, with executors: 0, drivers: 0\n", stderr)
	require.True(t, next().GetDecommission())

	t.Setenv("BOBBIN_MASTER", url)
	code, stdout, stderr = run("decommission", "--json", "worker-7")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"state": "DECOMMISSIONING"`)
	require.Contains(t, stdout, `"earlier": true`)
	require.Empty(t, stderr)
}
