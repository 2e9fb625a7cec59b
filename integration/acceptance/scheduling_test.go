//go:build integration

package acceptance

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/page"
	"github.com/bobbin-yarn/bobbin/driver"
)

// readHDFS returns the content of a file in HDFS.
func readHDFS(t *testing.T, path string) string {
	t.Helper()
	file, err := shared.files.Open(t.Context(), path)
	require.NoError(t, err)
	defer func() { assert.NoError(t, file.Close()) }()
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	return string(text)
}

// TestSpeculativeCopyWinsAndOutputIsCommittedOnce runs a task whose first attempt waits until
// it is killed, because its speculative copy has succeeded, and then tries to commit its
// output. The commit must be refused.
func TestSpeculativeCopyWinsAndOutputIsCommittedOnce(t *testing.T) {
	t.Parallel()
	out := outputPath(t)
	done := yarnSubmit(t, "submit", "--num-executors", "2", "--conf", "speculation=true", "--conf", "speculation.quantile=0.5",
		program("trouble"), "straggle", out)
	require.Equal(t, 0, done.code)
	assert.Equal(t, "written by attempt 1\n", readHDFS(t, out+"/part-00000"), "the copy's")
	for i := 1; i < 6; i++ {
		// On a busy machine, other tasks may also be slow and have speculative copies.
		assert.Regexp(t, `^written by attempt [01]\n$`, readHDFS(t, fmt.Sprintf("%s/part-%05d", out, i)))
	}
	assertNoTemporaryFiles(t, out)
	assertNothingLeft(t, done.applicationID(t))
}

// TestCancelledJobFreesItsExecutors cancels a job whose tasks use all cores. The tasks'
// contexts must be cancelled with the cause, and the tasks of another job must run.
func TestCancelledJobFreesItsExecutors(t *testing.T) {
	t.Parallel()
	directory := outputPath(t)
	done := yarnSubmit(t, "submit", "--num-executors", "2", "--executor-cores", "1", program("trouble"), "cancel", directory)
	require.Equal(t, 0, done.code)
	for i := range 2 {
		assert.Equal(t, `task killed: the job ended: job "farewell" was cancelled: nobody wants it any more`,
			readHDFS(t, fmt.Sprintf("%s/task-%d", directory, i)))
	}
	assert.NotContains(t, done.stderr, "failed attempt")
	assertNothingLeft(t, done.applicationID(t))
}

// TestPoolsShareTheExecutors runs one job in each of two pools, whose weights are 3 and 1.
func TestPoolsShareTheExecutors(t *testing.T) {
	t.Parallel()
	file := workingDirectory(t, map[string]string{"pools.xml": `<allocations>
  <pool name="heavy"><weight>3</weight></pool>
  <pool name="light"/>
</allocations>`}) + "/pools.xml"
	signal := outputPath(t)
	running := commandLine{args: []string{"submit", "--num-executors", "2", "--executor-cores", "2", "--conf", "scheduler.mode=FAIR",
		"--conf", "scheduler.allocation.file=" + file, program("trouble"), "share", signal}}.start(t)
	id := running.applicationID(t)
	status := awaitStatus(t, id, "the heavy pool has three cores of four", func(status page.Status) bool {
		shares := map[string]int{}
		for _, job := range status.TaskSets {
			shares[job.Pool] = job.Running
		}
		return shares["heavy"] == 3 && shares["light"] == 1
	})
	assert.Equal(t, "naps", status.TaskSets[0].Group)
	require.NoError(t, shared.put(t.Context(), signal, nil))
	require.Equal(t, 0, running.wait(t).code)
	assertNothingLeft(t, id)

	refused := commandLine{args: []string{"submit", "--conf", "scheduler.mode=FAIR", "--conf", "scheduler.allocation.file=" + file + "x",
		program("trouble"), "share", signal}}.run(t)
	assert.Equal(t, 2, refused.code)
	assert.Contains(t, refused.lastLine(), "scheduler.allocation.file (from the command line): pools: open "+file+"x: no such file or directory")
}

// TestTasksGetTheDevicesOfTheirExecutor uses a discovery script that yarn-submit stages.
func TestTasksGetTheDevicesOfTheirExecutor(t *testing.T) {
	t.Parallel()
	directory := workingDirectory(t, map[string]string{
		"devices.sh": "#!/bin/sh\necho '{\"name\": \"gpu\", \"addresses\": [\"7\"]}'\n",
	})
	done := commandLine{args: []string{"submit", "--num-executors", "1", "--executor-cores", "2", "--files", "devices.sh",
		"--conf", "executor.resource.gpu.discoveryScript=./devices.sh", "--conf", "task.resource.gpu.amount=1",
		program("trouble"), "devices", "3"}, directory: directory}.run(t)
	require.Equal(t, 0, done.code)
	id := done.applicationID(t)
	logs := yarnSubmit(t, "logs", id)
	assert.Contains(t, logs.stdout, `devices ["1[7]" "1[7]" "1[7]"]`)
	assertNothingLeft(t, id)
}

func TestBarrierTasksWaitForOneAnother(t *testing.T) {
	t.Parallel()
	done := yarnSubmit(t, "submit", "--num-executors", "2", "--executor-cores", "2", program("trouble"), "gather", "4")
	require.Equal(t, 0, done.code)

	done = yarnSubmit(t, "submit", "--num-executors", "2", "--executor-cores", "1", program("trouble"), "gather", "4")
	require.Equal(t, 1, done.code)
	assert.Contains(t, done.lastLine(), driver.ErrUnschedulable.Error()+": its 4 tasks must run at once, and there is room for 2 on as many executors as there may be (2)")
}

// TestAJobThatWaitsReportsWhy runs a job whose three tasks must run at the same time, on a node
// with room for only two executors.
func TestAJobThatWaitsReportsWhy(t *testing.T) {
	t.Parallel()
	var others []string
	for _, node := range shared.hadoop.Nodes()[1:] {
		others = append(others, node.Host)
	}
	running := commandLine{args: []string{"submit", "--num-executors", "3", "--executor-cores", "1", "--executor-memory", "4g",
		"--conf", "yarn.exclude.nodes=" + strings.Join(others, ","), "--conf", "scheduler.maxRegisteredResourcesWaitingTime=1s",
		program("trouble"), "gather", "3"}}.start(t)
	id := running.applicationID(t)
	// Other applications on the node may leave room for only one executor at first.
	reason := regexp.MustCompile(`job 1 \(meet\) waits: its 3 tasks must run at once, and there is room for (1 on 1 executor|2 on 2 executors)(\n|$)`)
	awaitStatus(t, id, "it says why it waits", func(status page.Status) bool {
		return len(status.Notes) == 1 && reason.MatchString(status.Notes[0])
	})
	await(t, "yarn-submit says why it waits", func(context.Context) bool { return reason.MatchString(running.stderr.String()) })
	require.Equal(t, 0, yarnSubmit(t, "kill", id).code)
	require.Equal(t, 1, running.wait(t).code)
	assertNothingLeft(t, id)
}
