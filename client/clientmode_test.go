package client

import (
	"context"
	"encoding/base64"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

func TestSubmitForADriverInThisProcess(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running(), succeeded()}
	b := newBench(t, f, map[string]string{"submit.deployMode": "client", "yarn.am.cores": "2", "driver.memory": "100g"})
	b.job.Driver = func(id string, racks map[string]string) (*Driver, error) {
		require.Equal(t, fakeID, id)
		require.Equal(t, map[string]string{"h1": "/r1"}, racks)
		require.Nil(t, f.submitted, "the driver is there before the application is")
		return &Driver{Address: "here:1234", Pass: []byte("pass")}, nil
	}
	started, err := b.cluster.Start(context.Background(), b.job)
	require.NoError(t, err)
	defer started.Close()
	require.Equal(t, fakeID, started.ID())
	require.Equal(t, []string{"./wordcount", "in", "out dir"}, started.Spec().Command)
	require.Equal(t, map[string]launch.Node{"h1": {
		Label: "fast", MemoryMB: 4000, VCores: 8, Others: map[string]int64{"yarn.io/gpu": 1, "disk": 50},
	}}, started.Spec().Nodes)

	require.EqualValues(t, 512, f.submitted["resource"].(map[string]any)["memory"], "the driver's memory is this process's")
	am := f.submitted["am-container-spec"].(map[string]any)
	environment := entriesOf(am["environment"])
	require.Equal(t, "launcher", environment[launch.EnvRole])
	require.Equal(t, "here:1234", environment[launch.EnvDriver])
	require.Equal(t, "2", environment["GOMAXPROCS"])
	command := am["commands"].(map[string]any)["command"]
	require.NotContains(t, command.([]any)[0], "out dir", "the arguments are the driver's")
	secrets := entriesOf(am["credentials"].(map[string]any)["secrets"])
	require.Equal(t, base64.RawURLEncoding.EncodeToString([]byte("pass")), secrets[launch.SecretDriver])
	require.NotContains(t, f.submitted, "unmanaged-AM")

	report, err := started.Wait(context.Background())
	require.NoError(t, err)
	require.Equal(t, "SUCCEEDED", report.FinalStatus)
	require.Empty(t, tree(t, b.staging))
}

func TestSubmitWithAnUnmanagedMaster(t *testing.T) {
	f := newFakeYARN(t)
	f.reports = []map[string]any{running()}
	b := newBench(t, f, map[string]string{"submit.deployMode": "client", "yarn.unmanagedAM.enabled": "true", "yarn.am.memory": "100g"})
	started, err := b.cluster.Start(context.Background(), b.job)
	require.NoError(t, err, "it has no container, of whatever size")
	defer started.Close()
	require.Equal(t, true, f.submitted["unmanaged-AM"])
	am := f.submitted["am-container-spec"].(map[string]any)
	require.NotContains(t, am, "commands")
	require.NotContains(t, am, "credentials")
}

func TestNothingIsSubmittedIfTheDriverDoesNotStart(t *testing.T) {
	f := newFakeYARN(t)
	b := newBench(t, f, map[string]string{"submit.deployMode": "client", "yarn.cache.minSize": "1g"})
	broken := errors.New("the port is taken")
	b.job.Driver = func(string, map[string]string) (*Driver, error) { return nil, broken }
	_, err := b.cluster.Start(context.Background(), b.job)
	require.ErrorIs(t, err, broken)
	require.Nil(t, f.submitted)
	require.Empty(t, tree(t, b.staging), "nothing was uploaded")
}
