//go:build integration

package acceptance

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// TestDoctorFromANode configures a host name of the driver that containers cannot resolve, and
// checks all other findings on a healthy cluster.
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
	found := map[string]string{}
	for _, finding := range findings[:len(findings)-1] {
		assert.Equal(t, client.LevelOK, finding.Level, "%+v", finding)
		found[finding.Check] += finding.Result + "\n"
	}
	manager, namenode := shared.hadoop.ResourceManager(), shared.hadoop.NameNode()
	for check, want := range map[string]string{
		"configuration": "^fs.defaultFS is hdfs://",
		"login":         "^the user is " + currentUser(t) + "; the cluster asks for no authentication",
		"ResourceManager " + manager.Address(cluster.RPC): "^answers without authentication\n",
		"NameNode " + namenode.Address(cluster.RPC):       "^answers without authentication\n",
		"REST API " + manager.Address(cluster.HTTP):       "^answers\n",
		"clock":             "^it is that of REST API ",
		"version":           `^Hadoop 3\.\d+\.\d+, since `,
		"queues":            "; applications go to ",
		"nodes":             `^\d+ are up`,
		"NodeManagers":      `^the web servers of the \d+ asked answer`,
		"largest container": `^\d+ MiB and \d+ cores`,
		"staging directory": `/user/` + currentUser(t) + `/\.bobbin`,
		"block":             "^written and read",
	} {
		assert.Regexp(t, want, found[check], check)
	}
	assert.Regexp(t, "^a container reaches the ResourceManager and the NameNode .*, and has written and read a block in HDFS\n$", found["from a node"])
	here := findings[len(findings)-1]
	assert.Equal(t, client.LevelWarning, here.Level)
	assert.Contains(t, here.Result, "none has connected to nowhere.invalid:")
	assert.Equal(t, "driver.host", here.Key)
}
