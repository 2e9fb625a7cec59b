//go:build integration

package acceptance

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

// TestDoctorFromANode configures a host name of the driver that containers cannot resolve.
func TestDoctorFromANode(t *testing.T) {
	t.Parallel()
	asked := commandLine{
		args:        []string{"doctor", "--from-node", "--json"},
		environment: []string{"BOBBIN_DRIVER_HOST=nowhere.invalid", "BOBBIN_DRIVER_BIND_ADDRESS=127.0.0.1"},
	}.run(t)
	require.Equal(t, 0, asked.code, asked.stderr)
	var findings []client.Finding
	require.NoError(t, json.Unmarshal([]byte(asked.stdout), &findings))
	require.Greater(t, len(findings), 2)
	cluster, here := findings[len(findings)-2], findings[len(findings)-1]
	assert.Equal(t, client.LevelOK, cluster.Level)
	assert.Regexp(t, "^a container reaches the ResourceManager and the NameNode .*, and has written and read a block in HDFS$", cluster.Result)
	assert.Equal(t, client.LevelWarning, here.Level)
	assert.Contains(t, here.Result, "none has connected to nowhere.invalid:")
	assert.Equal(t, "driver.host", here.Key)
}
