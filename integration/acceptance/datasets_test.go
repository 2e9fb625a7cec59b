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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/integration/moments"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// dataflow is a submitted run of the program integration/programs/dataflow.
type dataflow struct {
	*submitted
	suite   *suite
	id, out string
	control moments.Control
}

const (
	mapTasks    = 12      // number of map tasks of dataflow's job
	resultTasks = 6       // number of result tasks of countsJob
	mapRecords  = 100_000 // number of records that each map task of countsJob generates
)

// countsJob are arguments of the program dataflow: its job counts with so much shuffle data
// that reduce tasks cannot buffer it all before they merge it.
var countsJob = []string{"-records", strconv.Itoa(mapRecords), "-keys", "10000000", "counts"}

// startDataflow submits countsJob. Its tasks wait at each of the held moments (see package
// moments) until d.control releases them.
func (s *suite) startDataflow(t *testing.T, flags []string, held ...string) *dataflow {
	t.Helper()
	return s.startDataflowJob(t, flags, countsJob, held...)
}

// startDataflowJob submits dataflow with the given arguments. flags are those of yarn-submit.
func (s *suite) startDataflowJob(t *testing.T, flags, arguments []string, held ...string) *dataflow {
	t.Helper()
	require.Equal(t, "127.0.0.1", shared.driverHost, "tasks need the control directory on this machine: the cluster cannot be in containers")
	d := &dataflow{suite: s, out: outputPath(t), control: moments.Control(t.TempDir())}
	require.NoError(t, d.control.Hold(held...))
	flags = append([]string{"--executor-memory", "192m", "--driver-memory", "256m", "--conf", "shuffle.partitions=6", "--conf", "yarn.maxAppAttempts=2"}, flags...)
	d.submitted, d.id = s.submit(t, slices.Concat(flags, []string{program("dataflow"), "-control", string(d.control)}, arguments, []string{d.out})...)
	return d
}

// expectedOutput runs countsJob on this machine without disturbances and returns its output.
var expectedOutput = sync.OnceValues(func() (content []byte, err error) {
	directory, err := os.MkdirTemp("", "bobbin-undisturbed-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	command := exec.Command(program("yarn-submit"), slices.Concat([]string{"submit", "--master", "local[2]", "--conf", "shuffle.partitions=6", program("dataflow")},
		countsJob, []string{"file://" + directory + "/out"})...)
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

// awaitEvents waits until tasks in at least the given number of executor processes have reached
// a moment. It returns the ids of these processes.
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

// awaitDataMoved waits until executors that are going to stop have moved all their data to
// other executors.
func (d *dataflow) awaitDataMoved(t *testing.T) {
	t.Helper()
	await(t, "data is handed over", func(context.Context) bool {
		done, err := d.control.HandedOver()
		require.NoError(t, err)
		return done
	})
}

// executorsOn returns the process ids of the executors on a host.
func (d *dataflow) executorsOn(host string) (pids []int) {
	for _, p := range processesInRole(d.id, launch.RoleExecutor, "dataflow") {
		if variable(p.environ, "NM_HOST") == host {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// assertExpectedOutput checks that the output does not exist, releases all waiting tasks, and
// calls assertEnds.
func (d *dataflow) assertExpectedOutput(t *testing.T) {
	t.Helper()
	_, err := d.suite.files.Stat(t.Context(), d.out)
	assert.ErrorIs(t, err, fs.ErrNotExist, "the output is there before the end")
	require.NoError(t, d.control.Release())
	d.assertEnds(t)
}

// assertEnds waits for the end of countsJob. It checks that the output equals that of an
// undisturbed run, byte for byte, and that each record and each key was counted once.
func (d *dataflow) assertEnds(t *testing.T) {
	t.Helper()
	require.Equal(t, 0, d.wait(t).code)
	d.suite.assertOutputComplete(t, d.out)
	d.suite.assertNoContainer(t, d.id)
	expected, err := expectedOutput()
	require.NoError(t, err)
	assert.True(t, bytes.Equal(expected, d.suite.readParts(t, d.out)), "the output differs from that of an undisturbed run")
	counters, err := d.control.Counters()
	require.NoError(t, err)
	assert.Equal(t, map[string]int64{"generated": mapTasks * mapRecords, "seen": int64(bytes.Count(expected, []byte("\n")))}, counters)
}

// listOutput returns the names and sizes of the files in the output directory, or "" if the
// directory does not exist.
func (d *dataflow) listOutput(ctx context.Context) (string, error) {
	entries, err := d.suite.files.List(ctx, d.out)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var listing strings.Builder
	for _, entry := range entries {
		fmt.Fprintln(&listing, entry.Name, entry.Size)
	}
	return listing.String(), err
}

// watchOutput lists the output directory over and over again, until stop is called. stop
// returns all different results of listOutput.
func (d *dataflow) watchOutput(t *testing.T) (stop func() []string) {
	t.Helper()
	var listings []string
	var failed error
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for more := true; more && failed == nil; {
			select {
			case <-ended:
				more = false
			case <-time.After(10 * time.Millisecond):
			}
			var listing string
			if listing, failed = d.listOutput(t.Context()); !slices.Contains(listings, listing) {
				listings = append(listings, listing)
			}
		}
	})
	return func() []string {
		close(ended)
		watching.Wait()
		require.NoError(t, failed)
		return listings
	}
}

// readParts returns the concatenated part files of an output directory.
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

// assertRuns checks that the map tasks with the indexes in twice have run twice and all others
// once, and that the i-th attempt of the map stage had sets[i] tasks.
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

// TestDataSetsSurviveLosses kills executors or the ApplicationMaster while map tasks write
// shuffle data, reduce tasks fetch it, or tasks commit the output. Map output is lost with its
// executor, because the shuffle service of nodes is not used. The subtests are not
// parallel: each application waits until all its executors run, and a fair scheduler may not
// give several applications all their executors at the same time.
func TestDataSetsSurviveLosses(t *testing.T) {
	t.Parallel()
	three := []string{"--num-executors", "3", "--executor-cores", "2", "--conf", "shuffle.service=off"}

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
		// Tasks commit in all executors. The victim is the one with the most map output; an
		// executor that registered after the map stage has none.
		victim := moments.Busiest(d.events(t, "mapped"))
		lost := moments.IndexesOf(d.events(t, "mapped"), victim)
		masters := processesInRole(d.id, launch.RoleAM, "dataflow")
		require.Len(t, masters, 1)
		// A task needs the driver's permission to commit. Pause the driver, so that the victim
		// is killed before it commits.
		require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGSTOP))
		require.NoError(t, d.control.Release())
		require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
		require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGCONT))
		d.assertExpectedOutput(t)
		d.assertRuns(t, lost, mapTasks, len(lost))
		assertNothingLeft(t, d.id)
	})
	t.Run("the ApplicationMaster", func(t *testing.T) { testApplicationMasterLoss(t, three, false) })
	t.Run("the ApplicationMaster, and the output is to be replaced", func(t *testing.T) { testApplicationMasterLoss(t, three, true) })
}

// testApplicationMasterLoss kills the ApplicationMaster when only the last result task has not
// committed its part. From then on, the output directory must be as it was before, not exist,
// or be complete. With replace, the directory exists before.
func testApplicationMasterLoss(t *testing.T, flags []string, replace bool) {
	arguments := countsJob
	if replace {
		arguments = append([]string{"-overwrite"}, countsJob...)
	}
	d := shared.startDataflowJob(t, flags, arguments, fmt.Sprintf("reduced.%d", resultTasks-1))
	if replace {
		require.NoError(t, shared.put(t.Context(), d.out+"/part-00000", []byte("old\n")))
	}
	before, err := d.listOutput(t.Context())
	require.NoError(t, err)
	awaitOnlyLast := func(attempts int) {
		await(t, "only the last result task has not ended", func(context.Context) bool {
			sets, err := d.control.TaskSets()
			require.NoError(t, err)
			return len(sets) == 2 && sets[1].Done == resultTasks-1 && moments.Times(d.events(t, "reduced"))[resultTasks-1] == attempts
		})
	}
	awaitOnlyLast(1)
	stop := d.watchOutput(t)
	masters := processesInRole(d.id, launch.RoleAM, "dataflow")
	require.Len(t, masters, 1)
	require.NoError(t, syscall.Kill(masters[0].pid, syscall.SIGKILL))
	awaitOnlyLast(2)
	require.NoError(t, d.control.Release())
	d.assertEnds(t)
	listings := stop()
	complete, err := d.listOutput(t.Context())
	require.NoError(t, err)
	assert.Subset(t, []string{before, "", complete}, listings)
	assert.Len(t, attempts(t, d.id), 2)
	assertNothingLeft(t, d.id)
}
