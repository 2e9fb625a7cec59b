//go:build integration

package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/moments"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// dataflow is a run of the program dataflow on the shared cluster.
type dataflow struct {
	*submitted
	id, out string
	control moments.Control
}

const mapTasks = 12 // of dataflow

// startDataflow starts counts with three executors, whose tasks wait at the held
// moments. Sections of its shuffle are larger than what a task receives ahead.
func startDataflow(t *testing.T, held ...string) *dataflow {
	t.Helper()
	d := &dataflow{out: output(t), control: moments.Control(t.TempDir())}
	require.NoError(t, d.control.Hold(held...))
	d.submitted = call{args: []string{"submit", "--num-executors", "3", "--executor-cores", "2", "--executor-memory", "192m", "--driver-memory", "256m",
		"--conf", "shuffle.partitions=6", "--conf", "yarn.maxAppAttempts=2",
		program("dataflow"), "-control", string(d.control), "-records", "100000", "-keys", "10000000", "counts", d.out}}.start(t)
	d.id = d.applicationID(t)
	return d
}

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

// finish lets tasks continue, waits for the end, and returns the lines of all parts in
// order.
func (d *dataflow) finish(t *testing.T) []byte {
	t.Helper()
	_, err := shared.files.Stat(t.Context(), d.out)
	assert.ErrorIs(t, err, fs.ErrNotExist, "the output is there before the end")
	require.NoError(t, d.control.Release())
	require.Equal(t, 0, d.wait(t).code)
	assertComplete(t, d.out)
	assertNothingLeft(t, d.id)
	entries, err := shared.files.List(t.Context(), d.out)
	require.NoError(t, err)
	var all bytes.Buffer
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name, "part-") {
			part, err := shared.files.Open(t.Context(), entry.Path)
			require.NoError(t, err)
			_, err = io.Copy(&all, part)
			require.NoError(t, err)
			require.NoError(t, part.Close())
		}
	}
	return all.Bytes()
}

// assertRuns checks that the given map tasks have run twice and the others once, and
// that the lost ones of them were submitted again together.
func (d *dataflow) assertRuns(t *testing.T, twice []int, lost int) {
	t.Helper()
	want := map[int]int{}
	for index := range mapTasks {
		want[index] = 1
	}
	for _, index := range twice {
		want[index]++
	}
	assert.Equal(t, want, moments.Times(d.events(t, "mapping")), "how often map tasks have run")
	sets, err := d.control.MapSets("")
	require.NoError(t, err)
	var tasks []int
	for _, set := range sets {
		tasks = append(tasks, set.Tasks)
	}
	assert.Equal(t, []int{mapTasks, lost}, tasks, "tasks of the attempts of the map stage")
}

// TestDataSetsSurviveKills kills executors and the ApplicationMaster while a shuffle is
// written, read, and its result saved. The output must be that of an undisturbed run,
// byte for byte.
func TestDataSetsSurviveKills(t *testing.T) {
	t.Parallel()
	if shared.driverHost != "127.0.0.1" {
		t.Skip("the program's control directory is on this machine, its tasks in containers")
	}
	expected := startDataflow(t, "mapped").finish(t)
	check := func(t *testing.T, d *dataflow) {
		t.Helper()
		assert.True(t, bytes.Equal(expected, d.finish(t)), "the output differs from that of the undisturbed run")
	}

	t.Run("an executor that maps", func(t *testing.T) {
		t.Parallel()
		var held []string
		for index := mapTasks / 2; index < mapTasks; index++ {
			held = append(held, fmt.Sprintf("mapped.%d", index))
		}
		d := startDataflow(t, held...)
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
		check(t, d)
		d.assertRuns(t, again, lost)
	})
	t.Run("an executor while all fetch", func(t *testing.T) {
		t.Parallel()
		d := startDataflow(t, "merging")
		d.awaitEvents(t, "merging", 3)
		victim := moments.Busiest(d.events(t, "mapped"))
		lost := moments.IndexesOf(d.events(t, "mapped"), victim)
		require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
		check(t, d)
		d.assertRuns(t, lost, len(lost))
	})
	t.Run("an executor that commits", func(t *testing.T) {
		t.Parallel()
		d := startDataflow(t, "reduced")
		victim := d.awaitEvents(t, "reduced", 3)[0]
		lost := moments.IndexesOf(d.events(t, "mapped"), victim)
		masters := inRole(d.id, launch.RoleAM, "dataflow")
		require.Len(t, masters, 1)
		// Without the driver, tasks wait for its permission to commit.
		require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGSTOP))
		require.NoError(t, d.control.Release())
		require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
		require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGCONT))
		check(t, d)
		d.assertRuns(t, lost, len(lost))
	})
	t.Run("the ApplicationMaster", func(t *testing.T) {
		t.Parallel()
		d := startDataflow(t, "reduced")
		first := d.awaitEvents(t, "reduced", 3)
		masters := inRole(d.id, launch.RoleAM, "dataflow")
		require.Len(t, masters, 1)
		require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGKILL))
		d.awaitEvents(t, "reduced", len(first)+1)
		check(t, d)
		assert.Len(t, attempts(t, d.id), 2)
	})
}
