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

// startFetching starts a run of dataflow with executors that all have map output, and of
// which at least two fetch. There are cores without a task.
func (s *suite) startFetching(t *testing.T, executors int, flags ...string) *dataflow {
	t.Helper()
	d := s.startDataflow(t, append(flags, "--num-executors", strconv.Itoa(executors)), "mapped", "merging")
	d.awaitEvents(t, "mapped", executors)
	require.NoError(t, d.control.Release("mapped"))
	d.awaitEvents(t, "merging", 2)
	return d
}

// onePerNode are flags with which YARN cannot put two executors on one node. Without them
// both may be beside the ApplicationMaster, and the other node has no container.
var onePerNode = []string{"--executor-cores", "4", "--conf", "executor.memoryOverhead=900m"}

// testPreemptionDuringFetches lets another queue claim its share while tasks fetch map output:
// the preempted executors hand over what they have before they are killed.
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

// testNodeLossDuringFetches kills a NodeManager and its executors while tasks fetch map output from
// there. The lost map tasks run again together, although several tasks miss their output.
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

// testDecommissionDuringFetches decommissions a node while tasks fetch map output from there:
// its executor hands over what it has.
func testDecommissionDuringFetches(t *testing.T, own *suite) {
	d := own.startFetching(t, 2, onePerNode...)
	goes, _ := own.nodesByMaster(t, d.id)
	own.awaitReport(t, goes)
	require.NoError(t, own.hadoop.Decommission(t.Context(), 2*time.Minute, goes.Host))
	d.awaitDataMoved(t)
	d.assertExpectedOutput(t)
	d.assertRuns(t, nil, mapTasks)
}
