//go:build integration

package masters

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/text"
	"github.com/bobbin-yarn/bobbin/storage"
)

// small are two executors of one core.
var small = []string{"--num-executors", "2", "--executor-cores", "1"}

func TestWordCount(t *testing.T) {
	var content bytes.Buffer
	_, err := text.WriteGoSources(t.Context(), &content, 4<<20)
	require.NoError(t, err)
	in := filepath.Join(t.TempDir(), "in.txt")
	require.NoError(t, os.WriteFile(in, content.Bytes(), 0o644))
	want := text.Count(content.Bytes())
	files := storage.New(storage.Options{})
	defer func() { require.NoError(t, files.Close()) }()
	eachMaster(t, func(t *testing.T, m master) {
		out := filepath.Join(t.TempDir(), "out")
		require.Zero(t, m.run(t, small, "wordcount", "-split", fmt.Sprint(1<<20), "file://"+in, "file://"+out).code)
		got, err := text.ReadCounts(t.Context(), files, "file://"+out)
		require.NoError(t, err)
		assert.Empty(t, text.Difference(want, got))
	})
}

func TestATaskThatFailsIsTriedAgain(t *testing.T) {
	eachMaster(t, func(t *testing.T, m master) {
		require.Zero(t, m.run(t, small, "trouble", "flaky", "3").code)
		done := m.run(t, small, "trouble", "task-error", "no such thing")
		assert.Equal(t, 1, done.code)
		assert.Regexp(t, `task 0 of "fail" failed 4 times, last on executor \w+ \([\w.]+\): no such thing \(try 3\)`, done.said())
	})
}

func TestAPanicOfATaskIsItsFailure(t *testing.T) {
	eachMaster(t, func(t *testing.T, m master) {
		done := m.run(t, small, "trouble", "task-panic", "bad luck")
		assert.Equal(t, 1, done.code)
		assert.Contains(t, done.said(), "panic: bad luck")
	})
}

func TestAnExecutorThatIsLostIsReplacedAndItsTasksRunAgain(t *testing.T) {
	eachMaster(t, func(t *testing.T, m master) {
		if !m.separate {
			return // the executor is the driver
		}
		require.Zero(t, m.run(t, small, "trouble", "lose", "8").code)
	})
}

func TestACancelledJobLeavesItsExecutorsToOthers(t *testing.T) {
	eachMaster(t, func(t *testing.T, m master) {
		directory := t.TempDir()
		require.Zero(t, m.run(t, small, "trouble", "cancel", "file://"+directory).code)
		for i := range 2 {
			reason, err := os.ReadFile(filepath.Join(directory, fmt.Sprintf("task-%d", i)))
			require.NoError(t, err)
			assert.Equal(t, `task killed: the job ended: job "farewell" was cancelled: nobody wants it any more`, string(reason))
		}
	})
}

// TestAnExecutorThatIsToldToLeaveFinishesItsTasks tells one by the signal that
// decommissions it: another comes in its place while it goes on with what it runs.
func TestAnExecutorThatIsToldToLeaveFinishesItsTasks(t *testing.T) {
	eachMaster(t, func(t *testing.T, m master) {
		running, ids, end := startStaying(t, m)
		if m.separate {
			require.NoError(t, syscall.Kill(ids[0], syscall.SIGPWR))
			await(t, "a third executor comes", func() bool { return running.isOver() || len(executors(t)) == 3 })
			assert.Contains(t, executors(t), ids[0], "it has a task")
		}
		end()
		require.Zero(t, running.wait(t).code, "no task was tried again")
	})
}

// startStaying runs two tasks, each in an executor of its own where these are
// processes, until end is called.
func startStaying(t *testing.T, m master) (running *submitted, processes []int, end func()) {
	t.Helper()
	directory := t.TempDir()
	signal := filepath.Join(directory, "signal")
	running = m.submit(t, small, "trouble", "stay", "file://"+directory, "file://"+signal)
	for task := range 2 {
		await(t, "the task runs", func() bool {
			require.False(t, running.isOver())
			said, err := os.ReadFile(filepath.Join(directory, fmt.Sprintf("process-%d-0", task)))
			if err != nil {
				return false
			}
			id, err := strconv.Atoi(string(said))
			require.NoError(t, err)
			processes = append(processes, id)
			return true
		})
	}
	return running, processes, func() { require.NoError(t, os.WriteFile(signal, nil, 0o644)) }
}

func TestAStragglerIsBeaten(t *testing.T) {
	eachMaster(t, func(t *testing.T, m master) {
		if !m.separate {
			return // there is no other executor for a copy
		}
		out := filepath.Join(t.TempDir(), "out")
		require.Zero(t, m.run(t, append([]string{"--conf", "speculation=true", "--conf", "speculation.quantile=0.5"}, small...),
			"trouble", "straggle", "file://"+out).code)
		first, err := os.ReadFile(filepath.Join(out, "part-00000"))
		require.NoError(t, err)
		assert.Equal(t, "written by attempt 1\n", string(first), "the copy's")
	})
}

func TestExecutorsComeAndGoWithTheWork(t *testing.T) {
	settings := []string{"--executor-cores", "1"}
	for key, value := range map[string]string{
		"enabled": "true", "minExecutors": "1", "maxExecutors": "3", "executorIdleTimeout": "2s", "schedulerBacklogTimeout": "300ms",
	} {
		settings = append(settings, "--conf", "dynamicAllocation."+key+"="+value)
	}
	eachMaster(t, func(t *testing.T, m master) {
		signals := filepath.Join(t.TempDir(), "signal")
		running := m.submit(t, settings, "trouble", "waves", "9", "file://"+signals+"-1", "file://"+signals+"-2")
		if m.separate {
			await(t, "it takes as many as it may", func() bool { return running.isOver() || len(executors(t)) == 3 })
		}
		require.NoError(t, os.WriteFile(signals+"-1", nil, 0o644))
		if m.separate {
			await(t, "it keeps as few as it may", func() bool { return running.isOver() || len(executors(t)) == 1 })
		}
		require.NoError(t, os.WriteFile(signals+"-2", nil, 0o644))
		require.Zero(t, running.wait(t).code)
	})
}

// TestPoolsShareTheExecutors runs a job in each of two pools, of which one is to
// have three times as much as the other.
func TestPoolsShareTheExecutors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pools.xml")
	require.NoError(t, os.WriteFile(file, []byte(`<allocations>
  <pool name="heavy"><weight>3</weight></pool>
  <pool name="light"/>
</allocations>`), 0o644))
	eachMaster(t, func(t *testing.T, m master) {
		require.Zero(t, m.run(t, []string{
			"--num-executors", "2", "--executor-cores", "2", "--conf", "scheduler.mode=FAIR", "--conf", "scheduler.allocation.file=" + file,
		}, "trouble", "fair").code)
	})
}

// TestADriverThatIsKilledLeavesNothing kills the driver's process where that is
// yarn-submit's own: its executors, and a cluster of its own, end without it.
func TestADriverThatIsKilledLeavesNothing(t *testing.T) {
	eachMaster(t, func(t *testing.T, m master) {
		if !m.inPlace {
			return
		}
		running, _, _ := startStaying(t, m)
		require.NoError(t, running.command.Process.Kill())
		assert.Equal(t, -1, running.wait(t).code)
	})
}
