//go:build integration

package acceptance

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/integration/moments"
)

// requireShuffleService are flags with which executors store map output only for the shuffle
// services of NodeManagers, which serve it after the executors have ended.
var requireShuffleService = []string{"--conf", "shuffle.service=required"}

// halfNode makes executors of dataflow so large that a node of the shared cluster has room for
// two, or for one and the ApplicationMaster. So three executors are on both nodes.
var halfNode = []string{"--conf", "executor.memoryOverhead=3904m"}

// TestShuffleService lets the NodeManagers of the shared cluster serve the map output of
// executors that have ended. It is not parallel: it needs the whole cluster to get executors on
// every node, as TestMapTasksAreNodeLocal does.
func TestShuffleService(t *testing.T) {
	t.Run("executors are idle", testReleasedExecutors)
	t.Run("executors are killed", testKilledExecutors)
}

// testKilledExecutors kills the executors on a node while tasks fetch map output from there. The
// NodeManager must serve their map output, so that no map task runs again.
func testKilledExecutors(t *testing.T) {
	d := shared.startFetching(t, 3, append(append(requireShuffleService, halfNode...), "--executor-cores", "4")...)
	goes, _ := shared.nodesByMaster(t, d.id)
	victims := d.executorsOn(goes.Host)
	require.Len(t, victims, 2)
	for _, victim := range victims {
		require.NotEmpty(t, moments.IndexesOf(d.events(t, "mapped"), victim))
		require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
	}
	d.assertExpectedOutput(t)
	d.assertRuns(t, nil, mapTasks)
}

// testPreemptedExecutors lets YARN preempt executors for another queue while tasks fetch map
// output. The preempted executors must not copy map output to other executors, because their
// NodeManagers serve it.
func testPreemptedExecutors(t *testing.T, own *suite) {
	d := own.startFetching(t, 6, append(requireShuffleService, "--queue", "default", "--driver-memory", "512m", "--executor-memory", "512m", "--executor-cores", "2")...)
	signal := outputPath(t)
	modest, other := own.submit(t, append(smallContainers, "--queue", "batch", "--num-executors", "2", program("trouble"), "until", signal)...)
	own.awaitStatus(t, other, "the other queue gets its share", func(status page.Status) bool { return status.Tasks.Running == 2 })
	d.assertExpectedOutput(t)
	d.assertRuns(t, nil, mapTasks)
	d.assertNoDataMoved(t)
	require.NoError(t, own.put(t.Context(), signal, nil))
	assert.Equal(t, 0, modest.wait(t).code)
	own.assertNoContainer(t, other)
}

// testReleasedExecutors leaves all executors idle in the middle of a job, except one. The setting
// shuffle.service has its default. The driver must choose the service of the nodes and release
// these executors, although a task still needs their map output. Then a node has no executor.
func testReleasedExecutors(t *testing.T) {
	d := shared.startDataflow(t, append(halfNode, "--conf", "shuffle.partitions=1", "--conf", "dynamicAllocation.enabled=true",
		"--conf", "dynamicAllocation.initialExecutors=3", "--conf", "dynamicAllocation.maxExecutors=3",
		"--conf", "dynamicAllocation.executorIdleTimeout=1s"), "mapped", "merging")
	d.awaitEvents(t, "mapped", 3)
	onNode := map[*cluster.Node][]int{}
	for _, node := range shared.hadoop.Nodes() {
		onNode[node] = d.executorsOn(node.Host)
		require.NotEmpty(t, onNode[node], node.Host)
	}
	require.NoError(t, d.control.Release("mapped"))
	merging := d.awaitEvents(t, "merging", 1)
	shared.awaitStatus(t, d.id, "idle executors are given back", func(status page.Status) bool { return status.Executors.Running == 1 })
	left := shared.hadoop.Nodes()[0]
	if slices.Contains(onNode[left], merging[0]) {
		left = shared.hadoop.Nodes()[1]
	}
	await(t, "the node has no executor", func(context.Context) bool { return len(d.executorsOn(left.Host)) == 0 })
	outputs := 0
	for _, ended := range onNode[left] {
		indexes := moments.IndexesOf(d.events(t, "mapped"), ended)
		assert.NotEmpty(t, indexes, "no map task has run in the executor")
		outputs += len(indexes)
	}
	kept, err := filepath.Glob(filepath.Join(left.LocalDir, "usercache", "*", "appcache", d.id, "output", "bobbin_*"))
	require.NoError(t, err)
	assert.Len(t, kept, outputs, "the node keeps the map outputs")

	require.NoError(t, d.control.Release())
	require.Equal(t, 0, d.wait(t).code)
	d.assertNoDataMoved(t)
	d.assertRuns(t, nil, mapTasks)
	assertNothingLeft(t, d.id)
	// With another number of partitions, lines are in another order.
	expected, err := expectedOutput()
	require.NoError(t, err)
	assert.True(t, slices.Equal(sortedLines(expected), sortedLines(d.suite.readParts(t, d.out))), "the output differs from that of an undisturbed run")
}

// assertNoDataMoved checks that no executor has moved data to other executors.
func (d *dataflow) assertNoDataMoved(t *testing.T) {
	t.Helper()
	sets, err := d.control.TaskSets()
	require.NoError(t, err)
	for _, set := range sets {
		assert.False(t, strings.HasPrefix(set.Name, "data of executor "), set.Name)
	}
}

func sortedLines(text []byte) []string {
	return slices.Sorted(strings.Lines(string(text)))
}

// testRequiredShuffleService requires the shuffle service on nodes that lack it.
func testRequiredShuffleService(t *testing.T, own *suite) {
	out := outputPath(t)
	done := commandLine{
		environment: []string{"HADOOP_CONF_DIR=" + own.hadoop.ConfDir()},
		args: slices.Concat([]string{"submit", "--num-executors", "1"}, requireShuffleService,
			[]string{program("dataflow"), "-control", ""}, countsJob, []string{out}),
	}.run(t)
	assert.Equal(t, 1, done.code)
	assert.Contains(t, done.lastLine(), "shuffle.service is required, but the shuffle service of the node does not work: the node has none: "+
		"add mapreduce_shuffle to yarn.nodemanager.aux-services there")
	own.assertNoContainer(t, done.applicationID(t))
}
