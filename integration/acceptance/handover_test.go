//go:build integration

package acceptance

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/moments"
)

// startFetching starts the job counts of dataflow. It returns when every executor has map
// output and reduce tasks fetch map output in at least two executors. There are fewer reduce
// tasks than cores.
func (s *suite) startFetching(t *testing.T, executors int, flags ...string) *dataflow {
	t.Helper()
	d := s.startDataflow(t, append(flags, "--num-executors", strconv.Itoa(executors)), "mapped", "merging")
	d.awaitEvents(t, "mapped", executors)
	require.NoError(t, d.control.Release("mapped"))
	d.awaitEvents(t, "merging", 2)
	return d
}

// onePerNode are flags for executors so large that a node has room for only one. Without them,
// YARN could start both executors on the node of the ApplicationMaster.
var onePerNode = []string{"--executor-cores", "4", "--conf", "executor.memoryOverhead=900m"}

// testPreemptionDuringFetches lets YARN preempt executors for another queue while tasks fetch
// map output. The preempted executors must move their map output to other executors before YARN
// kills them.
func testPreemptionDuringFetches(t *testing.T, own *suite) {
	d := own.startFetching(t, 6, "--conf", "shuffle.service=off", "--queue", "default", "--driver-memory", "512m", "--executor-memory", "512m", "--executor-cores", "2")
	signal := outputPath(t)
	modest, other := own.submit(t, append(smallContainers, "--queue", "batch", "--num-executors", "2", program("trouble"), "until", signal)...)
	own.awaitStatus(t, other, "the other queue gets its share", func(status page.Status) bool { return status.Tasks.Running == 2 })
	d.awaitDataMoved(t)
	d.assertExpectedOutput(t)
	d.assertRuns(t, nil, mapTasks)
	require.NoError(t, own.put(t.Context(), signal, nil))
	assert.Equal(t, 0, modest.wait(t).code)
	own.assertNoContainer(t, other)
}

// testNodeLossDuringFetches kills a NodeManager and its executor while tasks fetch map output
// from this executor. The lost map tasks must run again in one task set, although several
// reduce tasks report missing map output.
func testNodeLossDuringFetches(t *testing.T, own *suite) {
	d := own.startFetching(t, 2, onePerNode...)
	goes, _ := own.nodesByMaster(t, d.id)
	victims := d.executorsOn(goes.Host)
	require.Len(t, victims, 1)
	lost := moments.IndexesOf(d.events(t, "mapped"), victims[0])
	require.NotEmpty(t, lost)
	require.NoError(t, goes.NodeManager.Kill())
	require.NoError(t, syscall.Kill(victims[0], syscall.SIGKILL))
	d.assertExpectedOutput(t)
	d.assertRuns(t, lost, mapTasks, len(lost))
	require.NoError(t, goes.NodeManager.Start(t.Context()))
	require.NoError(t, own.hadoop.WaitReady(t.Context()))
}

// testDecommissionDuringFetches decommissions a node while tasks fetch map output from its
// executor. The executor must move its map output to another executor.
func testDecommissionDuringFetches(t *testing.T, own *suite) {
	d := own.startFetching(t, 2, onePerNode...)
	goes, _ := own.nodesByMaster(t, d.id)
	own.awaitReport(t, goes)
	require.NoError(t, own.hadoop.Decommission(t.Context(), 2*time.Minute, goes.Host))
	d.awaitDataMoved(t)
	d.assertExpectedOutput(t)
	d.assertRuns(t, nil, mapTasks)
}
