//go:build integration

package masters

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/text"
	"github.com/bobbin-yarn/bobbin/storage"
)

// twoSmallExecutors are flags for two executors with one core each.
var twoSmallExecutors = []string{"--num-executors", "2", "--executor-cores", "1"}

func TestWordCount(t *testing.T) {
	var content bytes.Buffer
	_, err := text.WriteGoSources(t.Context(), &content, 4<<20)
	require.NoError(t, err)
	in := filepath.Join(t.TempDir(), "in.txt")
	require.NoError(t, os.WriteFile(in, content.Bytes(), 0o644))
	want := text.Count(content.Bytes())
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	eachMaster(t, anyMaster, func(t *testing.T, m master) {
		out := filepath.Join(t.TempDir(), "out")
		require.Zero(t, m.run(t, twoSmallExecutors, "wordcount", "-split", fmt.Sprint(1<<20), "file://"+in, "file://"+out).code)
		got, err := text.ReadCounts(t.Context(), files, "file://"+out)
		require.NoError(t, err)
		assert.Empty(t, text.Difference(want, got))
	})
}

func TestFailedTaskIsRetried(t *testing.T) {
	eachMaster(t, anyMaster, func(t *testing.T, m master) {
		require.Zero(t, m.run(t, twoSmallExecutors, "trouble", "flaky", "3").code)
		done := m.run(t, twoSmallExecutors, "trouble", "task-error", "no such thing")
		assert.Equal(t, 1, done.code)
		assert.Regexp(t, `task 0 of "fail" failed 4 times, last on executor \w+ \([\w.]+\): no such thing \(try 3\)`, done.output())
	})
}

func TestTaskPanicIsATaskFailure(t *testing.T) {
	eachMaster(t, anyMaster, func(t *testing.T, m master) {
		done := m.run(t, twoSmallExecutors, "trouble", "task-panic", "bad luck")
		assert.Equal(t, 1, done.code)
		assert.Contains(t, done.output(), "panic: bad luck")
	})
}

func TestLostExecutorIsReplacedAndItsTasksRunAgain(t *testing.T) {
	eachMaster(t, separateExecutors, func(t *testing.T, m master) {
		require.Zero(t, m.run(t, twoSmallExecutors, "trouble", "lose", "8").code)
	})
}

func TestCancelledJobFreesItsExecutors(t *testing.T) {
	eachMaster(t, anyMaster, func(t *testing.T, m master) {
		directory := t.TempDir()
		require.Zero(t, m.run(t, twoSmallExecutors, "trouble", "cancel", "file://"+directory).code)
		for i := range 2 {
			reason, err := os.ReadFile(filepath.Join(directory, fmt.Sprintf("task-%d", i)))
			require.NoError(t, err)
			assert.Equal(t, `task killed: the job ended: job "farewell" was cancelled: nobody wants it any more`, string(reason))
		}
	})
}

// TestDecommissionedExecutorFinishesItsTasks decommissions an executor by SIGPWR. The executor
// must finish its running tasks, and the driver must assign no further tasks to it.
func TestDecommissionedExecutorFinishesItsTasks(t *testing.T) {
	eachMaster(t, anyMaster, func(t *testing.T, m master) {
		waiting := startWaitingProgram(t, m)
		if m.separateExecutors {
			require.NoError(t, syscall.Kill(waiting.processes[0], syscall.SIGPWR))
			await(t, "the driver has heard of it", func() bool {
				return strings.Contains(m.driverSaid(t, waiting.submitted), "executor gets no further tasks")
			})
		}
		waiting.release(t)
		require.Zero(t, waiting.wait(t).code, "no task was tried again")
		for task := range 2 {
			process, there := waiting.process(t, "second", task)
			require.True(t, there)
			if m.separateExecutors {
				assert.NotEqual(t, waiting.processes[0], process)
			}
		}
	})
}

// waitingProgram is a running program whose two tasks wait for the release. If executors are
// processes, each task runs in a different executor.
type waitingProgram struct {
	*submitted
	directory string
	processes []int
}

func startWaitingProgram(t *testing.T, m master, settings ...string) *waitingProgram {
	t.Helper()
	s := &waitingProgram{directory: t.TempDir()}
	s.submitted = m.submit(t, slices.Concat(twoSmallExecutors, settings), "trouble", "stay", "file://"+s.directory, "file://"+s.signal())
	for task := range 2 {
		await(t, "the task runs", func() bool {
			require.False(t, s.hasEnded())
			process, there := s.process(t, "first", task)
			if there {
				s.processes = append(s.processes, process)
			}
			return there
		})
	}
	return s
}

// process returns the id of the process in which a task ran. run is "first" or "second", for
// the task sets of `trouble stay`. there is false if the task has not started.
func (s *waitingProgram) process(t *testing.T, run string, task int) (id int, there bool) {
	t.Helper()
	said, err := os.ReadFile(filepath.Join(s.directory, fmt.Sprintf("%s-%d", run, task)))
	if err != nil {
		return 0, false
	}
	id, err = strconv.Atoi(string(said))
	require.NoError(t, err, "a file is there when it is whole")
	return id, true
}

func (s *waitingProgram) signal() string { return filepath.Join(s.directory, "signal") }

func (s *waitingProgram) release(t *testing.T) {
	t.Helper()
	require.NoError(t, os.WriteFile(s.signal(), nil, 0o644))
}

func TestSpeculativeCopyWins(t *testing.T) {
	eachMaster(t, separateExecutors, func(t *testing.T, m master) { // a speculative copy needs a second executor
		out := filepath.Join(t.TempDir(), "out")
		require.Zero(t, m.run(t, append([]string{"--conf", "speculation=true", "--conf", "speculation.quantile=0.5"}, twoSmallExecutors...),
			"trouble", "straggle", "file://"+out).code)
		first, err := os.ReadFile(filepath.Join(out, "part-00000"))
		require.NoError(t, err)
		assert.Equal(t, "written by attempt 1\n", string(first), "the copy's")
	})
}

func TestDynamicAllocationFollowsTheWork(t *testing.T) {
	settings := []string{"--executor-cores", "1"}
	for key, value := range map[string]string{
		"enabled": "true", "minExecutors": "1", "maxExecutors": "3", "executorIdleTimeout": "2s", "schedulerBacklogTimeout": "300ms",
	} {
		settings = append(settings, "--conf", "dynamicAllocation."+key+"="+value)
	}
	eachMaster(t, anyMaster, func(t *testing.T, m master) { // includes local masters, which always have one executor
		signals := filepath.Join(t.TempDir(), "signal")
		running := m.submit(t, settings, "trouble", "hold", "9", "file://"+signals+"-1", "file://"+signals+"-2")
		if m.separateExecutors {
			await(t, "it takes as many as it may", func() bool { return running.hasEnded() || len(executors(t)) == 3 })
		}
		require.NoError(t, os.WriteFile(signals+"-1", nil, 0o644))
		if m.separateExecutors {
			await(t, "it keeps as few as it may", func() bool { return running.hasEnded() || len(executors(t)) == 1 })
		}
		require.NoError(t, os.WriteFile(signals+"-2", nil, 0o644))
		require.Zero(t, running.wait(t).code)
	})
}

// TestPoolsShareTheExecutors runs one job in each of two pools, whose weights are 3 and 1.
func TestPoolsShareTheExecutors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pools.xml")
	require.NoError(t, os.WriteFile(file, []byte(`<allocations>
  <pool name="heavy"><weight>3</weight></pool>
  <pool name="light"/>
</allocations>`), 0o644))
	eachMaster(t, anyMaster, func(t *testing.T, m master) {
		settings := []string{
			"--num-executors", "2", "--executor-cores", "2", "--conf", "scheduler.mode=FAIR", "--conf", "scheduler.allocation.file=" + file,
		}
		if !m.separateExecutors {
			settings = append(settings, "--master", "local[4]") // four cores, however many this machine has
		}
		require.Zero(t, m.run(t, settings, "trouble", "fair").code)
	})
}

// TestKilledDriverLeavesNothing kills a driver that runs in yarn-submit's process. Its
// executors must end, and its local cluster, if it has one.
func TestKilledDriverLeavesNothing(t *testing.T) {
	eachMaster(t, driverInPlace, func(t *testing.T, m master) {
		waiting := startWaitingProgram(t, m)
		require.NoError(t, waiting.command.Process.Kill())
		assert.Equal(t, -1, waiting.wait(t).code)
	})
}
