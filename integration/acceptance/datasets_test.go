//go:build integration

package acceptance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/moments"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// dataflow is a run of the program dataflow.
type dataflow struct {
	*submitted
	suite   *suite
	id, out string
	control moments.Control
}

const mapTasks = 12 // of dataflow

// countsArguments are the arguments of dataflow, without the output. Sections of its
// shuffle are larger than what a task receives ahead.
func countsArguments(control moments.Control) []string {
	return []string{program("dataflow"), "-control", string(control), "-records", "100000", "-keys", "10000000", "counts"}
}

// startDataflow starts counts, whose tasks wait at the held moments.
func (s *suite) startDataflow(t *testing.T, flags []string, held ...string) *dataflow {
	t.Helper()
	require.Equal(t, "127.0.0.1", shared.driverHost, "tasks need the control directory on this machine: the cluster cannot be in containers")
	d := &dataflow{suite: s, out: outputPath(t), control: moments.Control(t.TempDir())}
	require.NoError(t, d.control.Hold(held...))
	flags = append([]string{"--executor-memory", "192m", "--driver-memory", "256m", "--conf", "shuffle.partitions=6", "--conf", "yarn.maxAppAttempts=2"}, flags...)
	d.submitted, d.id = s.submit(t, append(append(flags, countsArguments(d.control)...), d.out)...)
	return d
}

// expectedOutput returns the output of an undisturbed run on this machine.
var expectedOutput = sync.OnceValues(func() (content []byte, err error) {
	directory, err := os.MkdirTemp("", "bobbin-undisturbed-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	arguments := append([]string{"submit", "--master", "local[2]", "--conf", "shuffle.partitions=6"}, countsArguments("")...)
	command := exec.Command(program("yarn-submit"), append(arguments, "file://"+directory+"/out")...)
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + directory}
	if said, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	parts, err := filepath.Glob(directory + "/out/part-*")
	for _, part := range parts {
		lines, failed := os.ReadFile(part)
		content, err = append(content, lines...), errors.Join(err, failed)
	}
	return content, err
})

func (d *dataflow) events(t *testing.T, moment string) []moments.Event {
	t.Helper()
	events, err := d.control.Events(moment)
	require.NoError(t, err)
	return events
}

// awaitEvents waits until tasks in a number of processes have reached a moment.
func (d *dataflow) awaitEvents(t *testing.T, moment string, processes int) (pids []int) {
	t.Helper()
	await(t, fmt.Sprintf("%d executors are %s", processes, moment), func(context.Context) bool {
		pids = nil
		for _, e := range d.events(t, moment) {
			if !slices.Contains(pids, e.PID) {
				pids = append(pids, e.PID)
			}
		}
		return len(pids) >= processes
	})
	return pids
}

// awaitDataMoved waits until executors that leave have handed over all data.
func (d *dataflow) awaitDataMoved(t *testing.T) {
	t.Helper()
	await(t, "data is handed over", func(context.Context) bool {
		done, err := d.control.HandedOver()
		require.NoError(t, err)
		return done
	})
}

// executorsOn returns the processes of executors on a host.
func (d *dataflow) executorsOn(host string) (pids []int) {
	for _, p := range processesInRole(d.id, launch.RoleExecutor, "dataflow") {
		if variable(p.environ, "NM_HOST") == host {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// assertExpectedOutput lets tasks continue, waits for the end, and checks that the output is
// that of an undisturbed run, byte for byte.
func (d *dataflow) assertExpectedOutput(t *testing.T) {
	t.Helper()
	_, err := d.suite.files.Stat(t.Context(), d.out)
	assert.ErrorIs(t, err, fs.ErrNotExist, "the output is there before the end")
	require.NoError(t, d.control.Release())
	require.Equal(t, 0, d.wait(t).code)
	d.suite.assertOutputComplete(t, d.out)
	d.suite.assertNoContainer(t, d.id)
	expected, err := expectedOutput()
	require.NoError(t, err)
	assert.True(t, bytes.Equal(expected, d.suite.readParts(t, d.out)), "the output differs from that of an undisturbed run")
}

// readParts returns the lines of all parts of an output in order.
func (s *suite) readParts(t *testing.T, out string) []byte {
	t.Helper()
	entries, err := s.files.List(t.Context(), out)
	require.NoError(t, err)
	var all bytes.Buffer
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name, "part-") {
			part, err := s.files.Open(t.Context(), entry.Path)
			require.NoError(t, err)
			_, err = io.Copy(&all, part)
			require.NoError(t, err)
			require.NoError(t, part.Close())
		}
	}
	return all.Bytes()
}

// assertRuns checks that the given map tasks have run twice and the others once, and
// how many tasks the attempts of the map stage had.
func (d *dataflow) assertRuns(t *testing.T, twice []int, sets ...int) {
	t.Helper()
	want := map[int]int{}
	for index := range mapTasks {
		want[index] = 1
	}
	for _, index := range twice {
		want[index]++
	}
	assert.Equal(t, want, moments.Times(d.events(t, "mapping")), "how often map tasks have run")
	submitted, err := d.control.MapSets("")
	require.NoError(t, err)
	var tasks []int
	for _, set := range submitted {
		tasks = append(tasks, set.Tasks)
	}
	assert.Equal(t, sets, tasks, "tasks of the attempts of the map stage")
}

// TestDataSetsSurviveLosses kills executors and the ApplicationMaster while a shuffle is
// written, read, and its result saved. The applications run one after the other: each
// waits for all its executors, which a scheduler that shares fairly does not give to
// several at a time.
func TestDataSetsSurviveLosses(t *testing.T) {
	t.Parallel()
	three := []string{"--num-executors", "3", "--executor-cores", "2"}

	t.Run("an executor that maps", func(t *testing.T) {
		var held []string
		for index := mapTasks / 2; index < mapTasks; index++ {
			held = append(held, fmt.Sprintf("mapped.%d", index))
		}
		d := shared.startDataflow(t, three, held...)
		await(t, "half of the map tasks wait, the others are done", func(context.Context) bool {
			sets, err := d.control.MapSets("")
			require.NoError(t, err)
			return len(d.events(t, "mapped")) == mapTasks && len(sets) == 1 && sets[0].Done == mapTasks/2
		})
		mapped := d.events(t, "mapped")
		victim := moments.Busiest(mapped)
		again := moments.IndexesOf(mapped, victim)
		lost := slices.IndexFunc(append(again, mapTasks), func(index int) bool { return index >= mapTasks/2 })
		require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
		d.assertExpectedOutput(t)
		d.assertRuns(t, again, mapTasks, lost)
		assertNothingLeft(t, d.id)
	})
	t.Run("an executor while all fetch", func(t *testing.T) {
		d := shared.startDataflow(t, three, "merging")
		d.awaitEvents(t, "merging", 3)
		victim := moments.Busiest(d.events(t, "mapped"))
		lost := moments.IndexesOf(d.events(t, "mapped"), victim)
		require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
		d.assertExpectedOutput(t)
		d.assertRuns(t, lost, mapTasks, len(lost))
		assertNothingLeft(t, d.id)
	})
	t.Run("an executor that commits", func(t *testing.T) {
		d := shared.startDataflow(t, three, "reduced")
		d.awaitEvents(t, "reduced", 3)
		// All executors commit. One that joined after the map stage has no outputs to lose.
		victim := moments.Busiest(d.events(t, "mapped"))
		lost := moments.IndexesOf(d.events(t, "mapped"), victim)
		masters := processesInRole(d.id, launch.RoleAM, "dataflow")
		require.Len(t, masters, 1)
		// Without the driver, tasks wait for its permission to commit.
		require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGSTOP))
		require.NoError(t, d.control.Release())
		require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
		require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGCONT))
		d.assertExpectedOutput(t)
		d.assertRuns(t, lost, mapTasks, len(lost))
		assertNothingLeft(t, d.id)
	})
	t.Run("the ApplicationMaster", func(t *testing.T) {
		d := shared.startDataflow(t, three, "reduced")
		first := d.awaitEvents(t, "reduced", 3)
		masters := processesInRole(d.id, launch.RoleAM, "dataflow")
		require.Len(t, masters, 1)
		require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGKILL))
		d.awaitEvents(t, "reduced", len(first)+1)
		d.assertExpectedOutput(t)
		assert.Len(t, attempts(t, d.id), 2)
		assertNothingLeft(t, d.id)
	})
}
