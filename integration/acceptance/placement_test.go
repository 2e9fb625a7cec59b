//go:build integration

package acceptance

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// TestNodeLabelsAndExecutionTypes requests executors on the only node with a node label,
// executors without a label, and executors in opportunistic containers.
func TestNodeLabelsAndExecutionTypes(t *testing.T) {
	t.Parallel()
	options := clusterOptions()
	options.Nodes = []cluster.NodeSpec{{Host: "127.0.0.48", Rack: "/one"}, {Host: "127.0.0.49", Rack: "/other"}}
	options.YARN = cluster.Properties{
		"yarn.node-labels.enabled":                                           "true",
		"yarn.node-labels.fs-store.root-dir":                                 "file://" + t.TempDir(),
		"yarn.resourcemanager.opportunistic-container-allocation.enabled":    "true",
		"yarn.nodemanager.opportunistic-containers-max-queue-length":         "4",
		"yarn.nodemanager.opportunistic-containers-use-pause-for-preemption": "false",
	}
	const root = "yarn.scheduler.capacity.root."
	options.CapacityScheduler = cluster.Properties{
		root + "accessible-node-labels":                       "*",
		root + "accessible-node-labels.fast.capacity":         "100",
		root + "default.accessible-node-labels":               "fast",
		root + "default.accessible-node-labels.fast.capacity": "100",
	}
	own := ownCluster(t, options)
	fast, plain := own.hadoop.Nodes()[0].Host, own.hadoop.Nodes()[1].Host
	own.administer(t, "add-node-labels", `{"nodeLabelInfo":[{"name":"fast","exclusivity":true}]}`)
	own.administer(t, "replace-node-to-labels", `{"nodeToLabels":[{"nodeId":"`+fast+`:0","labels":["fast"]}]}`)
	for _, trial := range []struct {
		name, setting, host string
	}{
		{"label", "yarn.executor.nodeLabelExpression=fast", fast},
		{"no label", "yarn.executor.executionType=guaranteed", plain},
		{"opportunistic", "yarn.executor.executionType=opportunistic", ""},
	} {
		t.Run(trial.name, func(t *testing.T) {
			signal := own.data + "/" + strings.ReplaceAll(trial.name, " ", "-")
			running, id := own.submit(t, append(smallContainers, "--num-executors", "2", "--conf", trial.setting, program("trouble"), "until", signal)...)
			now := own.awaitStatus(t, id, "tasks run", func(status page.Status) bool { return status.Tasks.Running == 2 })
			for _, executor := range now.Details {
				if trial.host != "" {
					assert.Equal(t, trial.host, executor.Host)
				}
			}
			require.NoError(t, own.put(t.Context(), signal, nil))
			assert.Equal(t, 0, running.wait(t).code)
			own.assertNoContainer(t, id)
		})
	}
	refused := commandLine{args: []string{"submit", "--conf", "yarn.executor.nodeLabelExpression=quick", program("trouble"), "succeed", "1"},
		environment: []string{"HADOOP_CONF_DIR=" + own.hadoop.ConfDir()}}.run(t)
	assert.Equal(t, 3, refused.code)
	assert.Contains(t, refused.lastLine(), "quick")
	assert.Contains(t, refused.lastLine(), "fast", "it names the labels that there are")
}

// administer sends a request to the administrative REST API of the ResourceManager, and repeats
// it until it succeeds. what is the path below /ws/v1/cluster.
func (s *suite) administer(t *testing.T, what, body string) {
	t.Helper()
	url := "http://" + s.hadoop.ResourceManager().Address(cluster.HTTP) + "/ws/v1/cluster/" + what + "?user.name=" + currentUser(t)
	await(t, what, func(ctx context.Context) bool {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Less(t, response.StatusCode, 500, "%s", response.Status)
		return response.StatusCode == http.StatusOK
	})
}
