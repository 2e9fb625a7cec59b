//go:build integration

package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/aggregatedlog"
)

// TestAggregatedLogs reads compressed logs that YARN has aggregated in HDFS, in each of YARN's
// formats. TestFollowedLogs reads uncompressed logs.
func TestAggregatedLogs(t *testing.T) {
	t.Parallel()
	for i, format := range []struct {
		name       string
		properties cluster.Properties
	}{
		{"indexed and compressed", cluster.Properties{
			"yarn.log-aggregation.file-formats":                        "IndexedFormat,TFile",
			"yarn.log-aggregation.file-controller.IndexedFormat.class": "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController",
			"yarn.log-aggregation.IndexedFormat.remote-app-log-dir":    "/indexed",
			"yarn.nodemanager.log-aggregation.compression-type":        "gz",
		}},
		{"TFile compressed", cluster.Properties{"yarn.nodemanager.log-aggregation.compression-type": "gz"}},
	} {
		t.Run(format.name, func(t *testing.T) {
			options := clusterOptions()
			options.Nodes = []cluster.NodeSpec{
				{Host: fmt.Sprintf("127.0.0.%d", 81+2*i), Rack: "/one"}, {Host: fmt.Sprintf("127.0.0.%d", 82+2*i), Rack: "/other"},
			}
			options.YARN = cluster.Properties{
				"yarn.log-aggregation-enable":         "true",
				"yarn.nodemanager.remote-app-log-dir": "/logs",
			}
			for name, value := range format.properties {
				options.YARN[name] = value
			}
			testAggregatedLogs(t, ownCluster(t, options))
		})
	}
}

// testAggregatedLogs runs a command with much output. It reads the logs during aggregation, and
// again when only HDFS has them. The application has only one executor: if YARN allocated a
// container that the driver never started, the ResourceManager would wait ten minutes for its
// logs.
func testAggregatedLogs(t *testing.T, own *suite) {
	environment := []string{"HADOOP_CONF_DIR=" + own.hadoop.ConfDir()}
	const lines = 20000
	done := commandLine{environment: environment, args: []string{"run", "--tasks", "4", "--num-executors", "1", "--",
		"sh", "-c", fmt.Sprintf("echo to stderr >&2; seq -f 'line %%.0f of task {index}' %d", lines)}}.run(t)
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)
	// The NodeManagers are uploading the logs to HDFS at this time.
	atOnce := commandLine{environment: environment, args: []string{"logs", id}}.run(t)
	require.Equal(t, 0, atOnce.code)
	for task := range 4 {
		assert.Contains(t, atOnce.stdout, fmt.Sprintf("line %d of task %d\n", lines, task), "the end of task %d", task)
	}
	assert.Contains(t, atOnce.stdout, "==> stderr of the driver (container_")
	await(t, "the logs of "+id+" are aggregated", func(ctx context.Context) bool {
		known, err := own.rest.Application(ctx, id)
		return err == nil && known.LogAggregationStatus == "SUCCEEDED"
	})

	logs := commandLine{environment: environment, args: []string{"logs", id}}.run(t)
	require.Equal(t, 0, logs.code)
	for task := range 4 {
		var want strings.Builder
		want.WriteString("to stderr\n")
		for line := range lines {
			fmt.Fprintf(&want, "line %d of task %d\n", line+1, task)
		}
		assert.Regexp(t, fmt.Sprintf(`(?m)^==> task-%d-0\.out of executor 1 \(container_\S+, attempt 1, on 127\.0\.0\.8\d:\d+, %d bytes\) <==$`,
			task, want.Len()), logs.stdout)
		assert.Contains(t, logs.stdout, "<==\n"+want.String(), "the whole output of task %d", task)
	}
	assert.Contains(t, logs.stdout, "==> stderr of the driver (container_")
	assert.NotContains(t, logs.stdout, "containers.jsonl")

	container := strings.Fields(logs.stdout[strings.Index(logs.stdout, "(container_")+1:])[0]
	one := commandLine{environment: environment, args: []string{"logs", "--container", strings.TrimSuffix(container, ","), "--tail", "1", id}}.run(t)
	require.Equal(t, 0, one.code)
	assert.Contains(t, one.stdout, "of the driver")
	assert.NotContains(t, one.stdout, "of executor")

	files, err := tree(t.Context(), own.files, "/")
	require.NoError(t, err)
	for _, info := range files {
		isEventLog := strings.Contains(info.Path, "/.bobbin/history/")
		if strings.Contains(info.Path, id) && !info.Dir && !isEventLog && aggregatedlog.KindOf(info.Name) == aggregatedlog.KindLogs {
			bucket := id[len(id)-4:] // the last four digits of the application's number
			assert.Regexp(t, `/(logs|indexed)/[^/]+/bucket-logs-(tfile|indexedformat|ifile)/`+bucket+`/`+id+`/127\.0\.0\.8\d_\d+$`, info.Path)
		}
	}
}
