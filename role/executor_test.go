package role

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/shuffle"
)

func TestDecommissionSignal(t *testing.T) {
	reasons, stop := decommissionRequests()
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Signal(decommissionSignal))
	require.Equal(t, "it was sent "+decommissionSignalName, <-reasons)
}

func TestExecutorsFindTheShuffleServiceOfTheirNode(t *testing.T) {
	const container = "container_17_0001_01_000002"
	pass := []byte("pass")
	for _, test := range []struct {
		name        string
		environment map[string]string
		want        *shuffle.NodeOptions
	}{
		{"elsewhere", nil, nil},
		{"a NodeManager that was told nothing", map[string]string{"CONTAINER_ID": container, shufflehandler.EnvPort: "AAA0+g=="},
			&shuffle.NodeOptions{Application: "application_17_0001", Secret: pass}},
		{"a NodeManager with the service", map[string]string{
			"CONTAINER_ID": container, shufflehandler.EnvPort: "AAA0+g==", "LOCAL_DIRS": "/a,/b",
			launch.EnvHost: "node", launch.EnvShuffleService: "auto",
		}, &shuffle.NodeOptions{Application: "application_17_0001", Secret: pass, Address: "node:13562", Directories: []string{"/a", "/b"}}},
		{"a NodeManager without the service", map[string]string{"CONTAINER_ID": container, launch.EnvShuffleService: "required"},
			&shuffle.NodeOptions{Application: "application_17_0001", Secret: pass, Required: true}},
		{"a worker with the service", map[string]string{
			launch.EnvApplication: "app-1", launch.EnvShuffleService: "required", launch.EnvShuffleAddress: "node:8081", launch.EnvShuffleDirectory: "/a/shuffle",
		}, &shuffle.NodeOptions{Application: "app-1", Secret: pass, Required: true, Address: "node:8081", Directories: []string{"/a/shuffle"}}},
		{"a worker without the service", map[string]string{launch.EnvApplication: "app-1", launch.EnvShuffleService: "required"},
			&shuffle.NodeOptions{Application: "app-1", Secret: pass, Required: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.environment {
				t.Setenv(name, value)
			}
			got, err := shuffleNodes(pass)
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}
