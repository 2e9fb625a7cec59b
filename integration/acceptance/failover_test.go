//go:build integration

package acceptance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// TestFirstResourceManagerIsDown configures ResourceManager HA with two ResourceManagers, of
// which the first does not run. yarn-submit and the ApplicationMaster must use the second.
func TestFirstResourceManagerIsDown(t *testing.T) {
	t.Parallel()
	var properties strings.Builder
	set := func(name, value string) {
		properties.WriteString("<property><name>" + name + "</name><value>" + value + "</value></property>\n")
	}
	set("yarn.resourcemanager.ha.enabled", "true")
	set("yarn.resourcemanager.ha.rm-ids", "rm1,rm2")
	for name, endpoint := range map[string]cluster.Endpoint{
		"address": cluster.RPC, "scheduler.address": cluster.Scheduler, "webapp.address": cluster.HTTP,
		"resource-tracker.address": cluster.Tracker, "admin.address": cluster.Admin,
	} {
		set("yarn.resourcemanager."+name+".rm1", closedAddress)
		set("yarn.resourcemanager."+name+".rm2", shared.hadoop.ResourceManager().Address(endpoint))
	}
	dir := configurationWith(t, "</configuration>", properties.String()+"</configuration>")
	environment := []string{"HADOOP_CONF_DIR=" + dir}

	done := commandLine{args: []string{"submit", "--num-executors", "2", program("pi"), "8"}, environment: environment}.run(t)
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)
	assert.Equal(t, 0, commandLine{args: []string{"status", id}, environment: environment}.run(t).code)
	logs := commandLine{args: []string{"logs", id}, environment: environment}.run(t)
	assert.Contains(t, logs.stdout, "Pi is roughly 3.14")
	assertNothingLeft(t, id)
}
