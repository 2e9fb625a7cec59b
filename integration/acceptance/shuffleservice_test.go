//go:build integration

package acceptance

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/integration/moments"
)

// requireShuffleService are flags with which executors store map output only for the shuffle
// services of NodeManagers, which serve it after the executors have ended.
var requireShuffleService = []string{"--conf", "shuffle.service=required"}

// testKilledExecutors kills the executor on a node while tasks fetch map output from there. The
// NodeManager must serve the executor's map output, so that no map task runs again.
func testKilledExecutors(t *testing.T, own *suite) {
	d := own.startFetching(t, 2, append(requireShuffleService, onePerNode...)...)
	goes, _ := own.nodesByMaster(t, d.id)
	victims := d.executorsOn(goes.Host)
	require.Len(t, victims, 1)
	require.NotEmpty(t, moments.IndexesOf(d.events(t, "mapped"), victims[0]))
	require.NoError(t, syscall.Kill(victims[0], syscall.SIGKILL))
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
	sets, err := d.control.TaskSets()
	require.NoError(t, err)
	for _, set := range sets {
		assert.False(t, strings.HasPrefix(set.Name, "data of executor "), set.Name)
	}
	require.NoError(t, own.put(t.Context(), signal, nil))
	assert.Equal(t, 0, modest.wait(t).code)
	own.assertNoContainer(t, other)
}

// testReleasedExecutors leaves executors idle in the middle of a job. The driver must release
// them, although tasks still need their map output.
func testReleasedExecutors(t *testing.T, own *suite) {
	d := own.startDataflow(t, append(requireShuffleService, "--conf", "shuffle.partitions=1", "--conf", "dynamicAllocation.enabled=true",
		"--conf", "dynamicAllocation.initialExecutors=4", "--conf", "dynamicAllocation.maxExecutors=4",
		"--conf", "dynamicAllocation.executorIdleTimeout=1s"), "mapped", "merging")
	d.awaitEvents(t, "mapped", 4)
	require.NoError(t, d.control.Release("mapped"))
	d.awaitEvents(t, "merging", 1)
	own.awaitStatus(t, d.id, "idle executors are given back", func(status page.Status) bool { return status.Executors.Running == 1 })
	require.NoError(t, d.control.Release())
	require.Equal(t, 0, d.wait(t).code)
	d.suite.assertOutputComplete(t, d.out)
	d.assertRuns(t, nil, mapTasks)
}
