//go:build integration

package acceptance

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/storage"
)

// readReport reads the report that the driver or a task of `trouble look` has written to the
// file who in the directory out. It returns the reported values by name.
func (s *suite) readReport(t *testing.T, out, who string) map[string]string {
	t.Helper()
	file, err := s.files.Open(t.Context(), out+"/"+who)
	require.NoError(t, err)
	content, err := io.ReadAll(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	seen := map[string]string{}
	for line := range strings.Lines(string(content)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		seen[name] = value
	}
	return seen
}

// TestEnvironmentIsExpandedByTheNode sets environment variables whose values contain
// placeholders that only the NodeManager can expand, and a variable whose value it must not
// expand.
func TestEnvironmentIsExpandedByTheNode(t *testing.T) {
	t.Parallel()
	const literal = `{"a":{"b":"$HOME {{not a name}} ` + "`id`" + ` \\ <x>"}}`
	args := []string{"submit", "--num-executors", "1", "--executor-cores", "2", "--executor-memory", "600m", "--driver-memory", "400m",
		"--conf", "executor.memoryOverheadFactor=0.5"}
	for _, prefix := range []string{"executorEnv.", "yarn.appMasterEnv."} {
		args = append(args,
			"--conf", prefix+"WHERE={{NM_HOST}}_{{CONTAINER_ID}}<CPS>x", "--conf", prefix+"LOGS=<LOG_DIR>/mine", "--conf", prefix+"LITERAL="+literal)
	}
	args = append(args, "--conf", "executorEnv.GOMAXPROCS=5")
	out := outputPath(t)
	done := yarnSubmit(t, append(args, program("trouble"), "look", out,
		"$WHERE", "$LOGS", "$LITERAL", "$NM_HOST", "$CONTAINER_ID", "$LOG_DIRS", "$GOMAXPROCS", "$GOMEMLIMIT")...)
	require.Equal(t, 0, done.code)
	for who, limits := range map[string][2]string{"driver": {"1", nineTenths(400)}, "task-0": {"5", nineTenths(600)}} {
		seen := shared.readReport(t, out, who)
		assert.Equal(t, seen["$NM_HOST"]+"_"+seen["$CONTAINER_ID"]+":x", seen["$WHERE"], who)
		assert.Equal(t, seen["$LOG_DIRS"]+"/mine", seen["$LOGS"], who)
		assert.Equal(t, literal, seen["$LITERAL"], who)
		assert.Equal(t, limits[0], seen["$GOMAXPROCS"], who)
		assert.Equal(t, limits[1], seen["$GOMEMLIMIT"], "of the program's memory: %s", who)
	}
}

func nineTenths(mib int) string { return strconv.Itoa(mib << 20 / 10 * 9) }

// TestContainersMatchTheirRequests runs its subtests in order, on a cluster with custom
// resource types, access control lists and log aggregation.
func TestContainersMatchTheirRequests(t *testing.T) {
	t.Parallel()
	options := clusterOptions()
	options.Nodes = []cluster.NodeSpec{{Host: "127.0.0.71", Rack: "/one"}, {Host: "127.0.0.72", Rack: "/other"}}
	options.YARN = cluster.Properties{
		"yarn.resource-types":                                     "example.com/license,scratch",
		"yarn.resource-types.scratch.units":                       "G",
		"yarn.resource-types.scratch.maximum-allocation":          "6",
		"yarn.nodemanager.resource-type.example.com/license":      "2",
		"yarn.nodemanager.resource-type.scratch":                  "10G",
		"yarn.acl.enable":                                         "true",
		"yarn.admin.acl":                                          "keeper",
		"yarn.log-aggregation-enable":                             "true",
		"yarn.nodemanager.remote-app-log-dir":                     "/logs",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
		// Until this time after its start, a ResourceManager does not limit containers to the
		// largest node.
		"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "0",
	}
	options.CapacityScheduler = cluster.Properties{"yarn.scheduler.capacity.root.acl_administer_queue": "keeper"}
	own := ownCluster(t, options)
	t.Run("resource types", func(t *testing.T) { testCustomResources(t, own) })
	t.Run("impossible resources", func(t *testing.T) { testImpossibleResources(t, own) })
	t.Run("a shuffle service that nodes lack", func(t *testing.T) { testRequiredShuffleService(t, own) })
	t.Run("access lists and log patterns", func(t *testing.T) { testAccessLists(t, own) })
}

// testCustomResources requests custom resource types for the ApplicationMaster and its executors.
func testCustomResources(t *testing.T, own *suite) {
	signal := own.data + "/resources"
	running, id := own.submit(t, "--num-executors", "2", "--driver-memory", "512m", "--executor-memory", "512m",
		"--conf", "yarn.driver.resource.example.com/license.amount=1", "--conf", "driver.resource.scratch.amount=3",
		"--conf", "yarn.executor.resource.example.com/license.amount=1", "--conf", "executor.resource.scratch.amount=5",
		program("trouble"), "until", signal)
	own.awaitStatus(t, id, "both tasks run", func(status page.Status) bool { return status.Tasks.Running == 2 })
	await(t, "the ApplicationMaster and two executors have what was asked for, and nobody has more", func(context.Context) bool {
		used := own.usedResources(t)
		return used["example.com/license"] == 1+2 && used["scratch"] == 3+2*5
	})
	require.NoError(t, own.put(t.Context(), signal, nil))
	assert.Equal(t, 0, running.wait(t).code)
	own.assertNoContainer(t, id)
}

// usedResources returns the sum of the resources in use on all nodes, by resource type.
func (s *suite) usedResources(t *testing.T) map[string]int64 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+s.hadoop.ResourceManager().Address(cluster.HTTP)+"/ws/v1/cluster/nodes", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Nodes struct {
			Node []struct {
				UsedResource struct {
					ResourceInformations struct {
						ResourceInformation []struct {
							Name  string
							Value int64
						}
					}
				}
			}
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	used := map[string]int64{}
	for _, node := range answer.Nodes.Node {
		for _, resource := range node.UsedResource.ResourceInformations.ResourceInformation {
			used[resource.Name] += resource.Value
		}
	}
	return used
}

// testImpossibleResources checks that yarn-submit refuses requests that the cluster cannot
// satisfy, before it uploads files.
func testImpossibleResources(t *testing.T, own *suite) {
	for setting, want := range map[string][]string{
		"yarn.executor.resource.example.com/license.amount=3": {"3 example.com/license", "container of the cluster, 2", "an executor"},
		"executor.resource.scratch.amount=7":                  {"7G scratch", "6G", "an executor"},
		"yarn.driver.resource.scratch.amount=7":               {"7G scratch", "6G", "the ApplicationMaster"},
		"executor.resource.gpu.amount=1":                      {"yarn.io/gpu is no resource type", "example.com/license", "scratch"},
		"yarn.executor.nodeLabelExpression=fast":              {"yarn.executor.nodeLabelExpression=fast", "no node labels"},
		"yarn.executor.resource.memory-mb.amount=12":          {"executor.memory"},
	} {
		done := commandLine{args: []string{"submit", "--conf", setting, program("trouble"), "succeed", "1"}, environment: []string{"HADOOP_CONF_DIR=" + own.hadoop.ConfDir()}}.run(t)
		assert.NotZero(t, done.code, setting)
		assert.Empty(t, done.stdout)
		for _, text := range want {
			assert.Contains(t, done.lastLine(), text, setting)
		}
	}
}

// testAccessLists lets the user viewer view an application, the user ender kill it, and the
// user stranger do neither. It checks the access control lists of containers in the aggregated
// logs, because without Kerberos a NodeManager's pages do not authenticate users.
func testAccessLists(t *testing.T, own *suite) {
	signal := own.data + "/lists"
	as := func(user string, args ...string) outcome {
		return commandLine{args: args, environment: []string{"HADOOP_CONF_DIR=" + own.hadoop.ConfDir(), "HADOOP_USER_NAME=" + user}}.run(t)
	}
	start := func(name string, settings ...string) (running *submitted, id string, hosts map[string]bool) {
		running, id = own.submit(t, append(settings, "--name", name, "--num-executors", "2", "--conf", "yarn.log.excludePattern=stdout",
			program("trouble"), "until", signal)...)
		status := own.awaitStatus(t, id, "both tasks run", func(status page.Status) bool { return status.Tasks.Running == 2 })
		_, master := own.nodesByMaster(t, id)
		hosts = map[string]bool{master.Host: true}
		for _, executor := range status.Details {
			hosts[executor.Host] = true
			for name, url := range executor.LogURLs {
				assert.Contains(t, pageAt(t, url), "Logs for container_", "%s on %s", name, executor.Host)
			}
		}
		return running, id, hosts
	}
	const inside = "amContainerLogs" // field that only permitted users receive
	rm := "http://" + own.hadoop.ResourceManager().Address(cluster.HTTP) + "/ws/v1/cluster/apps/"

	_, id, hosts := start("open", "--conf", "acls.enable=true", "--conf", "ui.view.acls=viewer", "--conf", "modify.acls=ender")
	assert.Contains(t, pageAt(t, rm+id+"?user.name=viewer"), inside)
	assert.NotContains(t, pageAt(t, rm+id+"?user.name=stranger"), inside)
	proxied := "http://" + own.hadoop.ResourceManager().Address(cluster.HTTP) + "/proxy/" + id + "/" + page.StatusPath
	for _, user := range []string{"viewer", currentUser(t)} {
		assert.Contains(t, pageAt(t, proxied+"?user.name="+user), id, "the page asks the lists too")
	}
	assert.Contains(t, pageAt(t, proxied+"?user.name=stranger"), `the user "stranger" may not see this application`)
	assert.Contains(t, pageAt(t, proxied), `may not see this application`, "who has no name here")
	root := strings.TrimSuffix(proxied, page.StatusPath)
	for query, says := range map[string]string{
		"?page=jobs": "Jobs", "?page=profile&type=heap&seconds=1": "Flame graph", "metrics?": "bobbin_executors", "api/profile?type=heap&seconds=1": "\x1f\x8b",
	} {
		assert.Contains(t, pageAt(t, root+query+"&user.name=viewer"), says, query)
		assert.Contains(t, pageAt(t, root+query+"&user.name=stranger"), `the user "stranger" may not see this application`, query)
		assert.Contains(t, pageAt(t, root+query), `may not see this application`, query)
	}
	assert.NotContains(t, pageAt(t, root+"?user.name=viewer"), "data-token", "a viewer may not kill")
	killPage := func(as, token string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, root+"?action=kill"+as, strings.NewReader(token))
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode
	}
	_, token, _ := strings.Cut(pageAt(t, root+"?user.name="+currentUser(t)), `data-token="`)
	token, _, _ = strings.Cut(token, `"`)
	require.Regexp(t, "^[0-9a-f]{64}$", token)
	for _, as := range []string{"&user.name=viewer", "&user.name=stranger", ""} { // "" is a request without a user
		assert.Equal(t, http.StatusForbidden, killPage(as, token), as)
	}
	assert.Equal(t, 3, as("stranger", "kill", id).code)
	assert.Equal(t, 3, as("viewer", "kill", id).code)
	assert.Equal(t, 0, as("ender", "kill", id).code)
	for _, content := range own.awaitAggregatedLogs(t, id, len(hosts)) {
		assert.Contains(t, content, "\x00\x08VIEW_APP\x00\x06viewer")
		assert.Contains(t, content, "\x00\x0aMODIFY_APP\x00\x05ender")
		assert.Contains(t, content, "\x00\x06stderr")
		assert.NotContains(t, content, "\x00\x06stdout", "yarn.log.excludePattern")
	}

	running, id, hosts := start("closed", "--conf", "ui.view.acls=viewer")
	assert.Contains(t, running.stderr.String(), "ui.view.acls let nobody in")
	assert.NotContains(t, pageAt(t, rm+id+"?user.name=viewer"), inside)
	require.NoError(t, own.put(t.Context(), signal, nil))
	assert.Equal(t, 0, running.wait(t).code)
	for _, content := range own.awaitAggregatedLogs(t, id, len(hosts)) {
		assert.NotContains(t, content, "viewer")
	}
	own.assertNoContainer(t, id)
}

func pageAt(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(content)
}

// awaitAggregatedLogs waits for the aggregated logs of an application and returns the content
// of each file. YARN writes one file for each node. In a file, the length of each string
// precedes the string.
func (s *suite) awaitAggregatedLogs(t *testing.T, id string, nodes int) (contents []string) {
	t.Helper()
	await(t, "the logs of "+id+" are aggregated", func(ctx context.Context) bool {
		files, err := tree(ctx, s.files, "/logs/"+currentUser(t))
		contents = s.aggregatedFiles(t, files, id)
		return err == nil && len(contents) == nodes
	})
	return contents
}

// aggregatedFiles returns the contents of the application's complete aggregated log files among
// files. The names of incomplete files end with .tmp.
func (s *suite) aggregatedFiles(t *testing.T, files []storage.Info, id string) []string {
	t.Helper()
	var contents []string
	for _, info := range files {
		if !strings.Contains(info.Path, id) || info.Dir || strings.HasSuffix(info.Path, ".tmp") {
			continue
		}
		file, err := s.files.Open(t.Context(), info.Path)
		require.NoError(t, err)
		content, err := io.ReadAll(file)
		require.NoError(t, err)
		require.NoError(t, file.Close())
		contents = append(contents, string(content))
	}
	return contents
}
