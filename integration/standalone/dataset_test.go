//go:build integration

package standalone

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin"
	"github.com/bobbin-yarn/bobbin/integration/moments"
)

// dataflow is a run of the program integration/programs/dataflow.
type dataflow struct {
	*application
	out     string
	control moments.Control
}

// startDataflow starts a job of dataflow, whose tasks wait at the held moments (see package
// moments). The shuffle service of workers is not used unless settings contain shuffle.service.
func (s *site) startDataflow(t *testing.T, settings map[string]string, held []string, arguments ...string) *dataflow {
	t.Helper()
	d := &dataflow{out: filepath.Join(t.TempDir(), "out"), control: moments.Control(t.TempDir())}
	require.NoError(t, d.control.Hold(held...))
	require.NoError(t, os.MkdirAll(s.temporaryDirectory(), 0o700))
	own := map[string]string{"master": s.url(), "driver.host": "127.0.0.1", "executor.cores": "2", "executor.memory": "192m", "shuffle.service": "off"}
	maps.Copy(own, settings)
	d.application = s.startProgram(t, append(s.environ(own), "TMPDIR="+s.temporaryDirectory()), program("dataflow"), append([]string{"-control", string(d.control)}, append(arguments, d.out)...)...)
	return d
}

// temporaryDirectory returns the directory for temporary files of drivers and local clusters.
func (s *site) temporaryDirectory() string { return filepath.Join(s.directory, "temporary") }

// release lets tasks that wait at the given moments continue. If no moment is given, it
// releases all.
func (d *dataflow) release(t *testing.T, moments ...string) {
	t.Helper()
	require.NoError(t, d.control.Release(moments...))
}

// events returns an event for each task attempt that has reached the moment.
func (d *dataflow) events(t *testing.T, moment string) []moments.Event {
	t.Helper()
	events, err := d.control.Events(moment)
	require.NoError(t, err)
	return events
}

// mapSets returns the task sets that write the shuffle of an operator, or of all operators if
// operator is "".
func (d *dataflow) mapSets(t *testing.T, operator string) []bobbin.Job {
	t.Helper()
	sets, err := d.control.MapSets(operator)
	require.NoError(t, err)
	return sets
}

// awaitMapped waits until the given number of tasks have succeeded in the first task set that
// writes the operator's shuffle.
func (d *dataflow) awaitMapped(t *testing.T, operator string, done int) {
	t.Helper()
	await(t, fmt.Sprintf("%d map tasks are done", done), func() bool {
		require.True(t, d.alive(), "%s has ended:\n%s", d.name, d.stderr.text())
		sets := d.mapSets(t, operator)
		return len(sets) > 0 && sets[0].Done >= done
	})
}

// awaitEvents waits until the given number of task attempts have reached a moment, a named
// point in a task such as "mapped", and returns their events.
func (d *dataflow) awaitEvents(t *testing.T, moment string, count int) []moments.Event {
	t.Helper()
	await(t, fmt.Sprintf("%d tasks are %s", count, moment), func() bool {
		require.True(t, d.alive(), "%s has ended:\n%s", d.name, d.stderr.text())
		return len(d.events(t, moment)) >= count
	})
	return d.events(t, moment)
}

// mapOnAll waits until tasks in the given number of executors are held at the moment "mapped",
// and lets them continue. Then each of these executors has map output.
func (d *dataflow) mapOnAll(t *testing.T, executors int) {
	t.Helper()
	await(t, fmt.Sprintf("tasks in %d executors are mapped", executors), func() bool {
		require.True(t, d.alive(), "%s has ended:\n%s", d.name, d.stderr.text())
		pids := map[int]bool{}
		for _, e := range d.events(t, "mapped") {
			pids[e.PID] = true
		}
		return len(pids) >= executors
	})
	d.release(t, "mapped")
}

// result waits until the application ends, and returns the concatenated part files.
func (d *dataflow) result(t *testing.T) []byte {
	t.Helper()
	require.Zero(t, d.wait(t, testTimeout), "%s", d.stderr.text())
	return readParts(t, d.out)
}

func readParts(t *testing.T, out string) []byte {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(out, "part-*"))
	require.NoError(t, err)
	require.NotEmpty(t, parts)
	var all bytes.Buffer
	for _, part := range parts {
		content, err := os.ReadFile(part)
		require.NoError(t, err)
		all.Write(content)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".*"))
	require.NoError(t, err)
	require.Empty(t, left, "temporary output is left")
	return all.Bytes()
}

// assertRuns checks that the map tasks with the indexes in twice have run twice and all others
// once.
func (d *dataflow) assertRuns(t *testing.T, twice ...int) {
	t.Helper()
	want := map[int]int{}
	for index := range 12 {
		want[index] = 1
	}
	for _, index := range twice {
		want[index]++
	}
	assert.Equal(t, want, moments.Times(d.events(t, "mapping")), "how often map tasks have run")
}

// assertMapSets checks that the i-th attempt of the map stage had tasks[i] tasks.
func (d *dataflow) assertMapSets(t *testing.T, tasks ...int) {
	t.Helper()
	var sizes []int
	for _, set := range d.mapSets(t, "") {
		if strings.HasPrefix(set.Name, "MapPartitions ") {
			sizes = append(sizes, set.Tasks)
		}
	}
	assert.Equal(t, tasks, sizes, "tasks of the map stage's attempts")
}

// newDataSite starts a site with three workers whose host names differ, so that executors of
// different workers fetch from each other over the network.
func newDataSite(t *testing.T) *site {
	s := newSite(t, 1, map[string]string{"network.timeout": "20s"})
	s.startMasters(t)
	for i := range 3 {
		s.startWorkerAs(t, fmt.Sprintf("127.0.0.%d", 81+i), 2)
	}
	s.awaitWorkers(t, 3)
	return s
}

const defaultRecords = 240_000 // number of records of dataflow without flags

// counters returns the counters of a job that has ended.
func (d *dataflow) counters(t *testing.T) map[string]int64 {
	t.Helper()
	counters, err := d.control.Counters()
	require.NoError(t, err)
	return counters
}

func assertCounters(t *testing.T, d *dataflow, seen int) {
	t.Helper()
	assert.Equal(t, map[string]int64{"generated": defaultRecords, "seen": int64(seen)}, d.counters(t))
}

// assertSame checks that two outputs are equal. A failure shows only the first different line.
func assertSame(t *testing.T, want, got []byte) {
	t.Helper()
	if bytes.Equal(want, got) {
		return
	}
	wants, gots := bytes.Split(want, []byte("\n")), bytes.Split(got, []byte("\n"))
	at := 0
	for at < min(len(wants), len(gots))-1 && bytes.Equal(wants[at], gots[at]) {
		at++
	}
	assert.Fail(t, "the output differs", "line %d of %d is %q, want %q of %d", at, len(gots), gots[at], wants[at], len(wants))
}

func sortLines(text []byte) {
	lines := slices.Collect(bytes.Lines(bytes.Clone(text)))
	slices.SortFunc(lines, bytes.Compare)
	at := 0
	for _, line := range lines {
		at += copy(text[at:], line)
	}
}

func lineCount(text []byte) int { return bytes.Count(text, []byte("\n")) }

// TestDataSetsSurviveExecutorLosses kills executors at known moments. The output must equal
// that of an undisturbed run, byte for byte. The counters must be exact, and only lost map
// tasks may run again.
func TestDataSetsSurviveExecutorLosses(t *testing.T) {
	t.Parallel()
	s := newDataSite(t)
	expected := map[string][]byte{}
	for _, job := range []string{"counts", "groups", "joined", "sorted"} {
		d := s.startDataflow(t, nil, nil, job)
		expected[job] = d.result(t)
	}
	for _, job := range []string{"counts", "sorted"} {
		t.Run(job+": one is killed while it maps", func(t *testing.T) {
			var held []string
			for index := 6; index < 12; index++ {
				held = append(held, "mapped."+itoa(index))
			}
			d := s.startDataflow(t, nil, held, job)
			await(t, "half of the map tasks wait", func() bool {
				waiting := 0
				for _, e := range d.events(t, "mapped") {
					if e.Index >= 6 {
						waiting++
					}
				}
				return waiting == 6
			})
			d.awaitMapped(t, "", 6)
			victim := moments.Busiest(d.events(t, "mapped"))
			again := moments.IndexesOf(d.events(t, "mapped"), victim)
			lost := slices.DeleteFunc(slices.Clone(again), func(index int) bool { return index >= 6 })
			process{pid: victim}.kill()
			d.release(t)
			assertSame(t, expected[job], d.result(t))
			if job == "counts" {
				d.assertRuns(t, again...)
				d.assertMapSets(t, 12, len(lost))
			}
			assertCounters(t, d, lineCount(expected[job]))
		})
	}
	sortLines(expected["joined"]) // the order of a key's values is undefined
	for _, job := range []string{"counts", "groups", "joined", "sorted"} {
		t.Run(job+": one is killed while it writes the output", func(t *testing.T) {
			d := s.startDataflow(t, nil, []string{"mapped", "reduced"}, job)
			d.mapOnAll(t, 3)
			victim := d.awaitEvents(t, "reduced", 3)[0].PID
			lost := moments.IndexesOf(d.events(t, "mapped"), victim)
			process{pid: victim}.kill()
			d.release(t)
			text := d.result(t)
			if job == "joined" {
				sortLines(text)
			}
			assertSame(t, expected[job], text)
			if job == "counts" {
				d.assertRuns(t, lost...)
				d.assertMapSets(t, 12, len(lost))
			}
			assertCounters(t, d, lineCount(expected[job]))
		})
	}
	t.Run("joined, a key has half of the records: one is killed while all join", func(t *testing.T) {
		d := s.startDataflow(t, nil, []string{"joining"}, "-hot", "0.5", "-check", "joined")
		process{pid: d.awaitEvents(t, "joining", 3)[0].PID}.kill()
		d.release(t)
		assert.Equal(t, fmt.Sprintf("records\t%d\n", defaultRecords), string(d.result(t)))
		assert.Greater(t, d.mapSets(t, "Reduce")[0].Tasks, 15, "the key's records are divided among tasks")
		assertCounters(t, d, 0)
	})
}

// With fetchingArguments and fetchingSettings, the shuffle data of counts are so large that
// reduce tasks cannot buffer them all before they merge, and each executor has a task that
// merges.
var fetchingArguments = []string{"-records", "100000", "-keys", "10000000"}

var fetchingSettings = map[string]string{"executor.memory": "128m", "shuffle.partitions": "6"}

// TestDataSetsSurviveTheLossOfServingExecutors kills an executor while others fetch map output
// from it, and while its own task waits for the permission to commit.
func TestDataSetsSurviveTheLossOfServingExecutors(t *testing.T) {
	t.Parallel()
	s := newDataSite(t)
	undisturbed := s.startDataflow(t, fetchingSettings, nil, append(fetchingArguments, "counts")...)
	expected := undisturbed.result(t)

	t.Run("one is killed while all fetch", func(t *testing.T) {
		d := s.startDataflow(t, fetchingSettings, []string{"mapped", "merging"}, append(fetchingArguments, "counts")...)
		d.mapOnAll(t, 3)
		victim := d.awaitEvents(t, "merging", 3)[0].PID
		lost := moments.IndexesOf(d.events(t, "mapped"), victim)
		process{pid: victim}.kill()
		d.release(t)
		assertSame(t, expected, d.result(t))
		d.assertRuns(t, lost...)
		d.assertMapSets(t, 12, len(lost))
		assert.Equal(t, undisturbed.counters(t), d.counters(t))
	})
	t.Run("a worker with two is killed while all fetch", func(t *testing.T) { fetchFromLostWorker(t, s, expected, "off") })
	t.Run("a worker that keeps the output of two is killed while all fetch", func(t *testing.T) { fetchFromLostWorker(t, s, expected, "required") })
	t.Run("all of a worker are killed while all fetch", func(t *testing.T) { fetchFromWorkerOfKilledExecutors(t, s, expected) })
	t.Run("idle ones, whose workers keep their output, leave while others fetch", func(t *testing.T) { fetchFromWorkersOfIdleExecutors(t, s, expected) })
	t.Run("one is slow while all fetch", func(t *testing.T) { fetchFromSlowExecutor(t, s, expected) })
	t.Run("one says nothing while all fetch", func(t *testing.T) { fetchFromSilentExecutor(t, s, expected) })
	t.Run("one's data port says nothing", func(t *testing.T) { fetchFromSilentPort(t, s, expected) })
	t.Run("idle ones leave while others fetch", func(t *testing.T) { fetchFromIdleExecutors(t, s, expected) })
	t.Run("one is killed while it commits", func(t *testing.T) {
		undisturbed := s.startDataflow(t, nil, nil, "counts")
		expected := undisturbed.result(t) // of fewer records than above
		parts, err := filepath.Glob(filepath.Join(undisturbed.out, "part-*"))
		require.NoError(t, err)
		d := s.startDataflow(t, nil, []string{"mapped", "reduced"}, "counts")
		d.mapOnAll(t, 3)
		started := d.awaitEvents(t, "reduced", len(parts))
		// Tasks need the driver's permission to commit. While the driver is suspended, they
		// write their part files, except for what they buffer, and wait.
		require.NoError(t, d.command.Process.Signal(syscall.SIGSTOP))
		d.release(t)
		await(t, "the tasks have written their parts", func() bool {
			attempts, err := filepath.Glob(filepath.Join(filepath.Dir(d.out), ".*", "*", "attempts", "*"))
			require.NoError(t, err)
			written := 0
			for _, attempt := range attempts {
				if info, err := os.Stat(attempt); err == nil && info.Size() > 0 {
					written++
				}
			}
			return written == len(parts)
		})
		victim := started[0].PID
		lost := moments.IndexesOf(d.events(t, "mapped"), victim)
		process{pid: victim}.kill()
		require.NoError(t, d.command.Process.Signal(syscall.SIGCONT))
		assertSame(t, expected, d.result(t))
		d.assertRuns(t, lost...)
		d.assertMapSets(t, 12, len(lost))
		assertCounters(t, d, lineCount(expected))
	})
}

// environmentOf returns the environment variables of a process of the site, or "" if the
// process has ended.
func (s *site) environmentOf(pid int) string {
	for _, p := range s.processes() {
		if p.pid == pid {
			return string(p.environ)
		}
	}
	return ""
}

// outputFiles returns the paths of map output files below a directory, by map task index.
// suffix selects data or index files.
func (d *dataflow) outputFiles(t *testing.T, directory, suffix string) map[int]string {
	t.Helper()
	found := map[int]string{}
	require.NoError(t, filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
		if fields := strings.Split(filepath.Base(path), "_"); err == nil && len(fields) == 4 && fields[0] == "shuffle" && strings.HasSuffix(path, suffix) {
			index, err := strconv.Atoi(fields[2])
			require.NoError(t, err)
			found[index] = path
		}
		return nil
	}))
	return found
}

// TestDamagedMapOutputIsMadeAgain damages or removes files of map output before they are read.
// The map tasks must run again.
func TestDamagedMapOutputIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (s *site, settings map[string]string){
		"read over the network": func(t *testing.T) (*site, map[string]string) { return newDataSite(t), nil },
		"read from files": func(t *testing.T) (*site, map[string]string) {
			s := newSite(t, 1, nil)
			return s, map[string]string{"master": "local-cluster[3,2,512]", "worker.dir": filepath.Join(s.directory, "worker-local")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, settings := start(t)
			expected := s.startDataflow(t, settings, nil, "groups").result(t)
			for name, damage := range map[string]func(t *testing.T, d *dataflow) (damaged []int){
				"a flipped byte and truncated files": func(t *testing.T, d *dataflow) []int {
					data, indexes := d.outputFiles(t, s.directory, ".data"), d.outputFiles(t, s.directory, ".index")
					all := slices.Sorted(maps.Keys(data))
					flipByte(t, data[all[0]])
					require.NoError(t, os.Truncate(indexes[all[1]], 100))
					require.NoError(t, os.Truncate(data[all[2]], 1000))
					return all[:3]
				},
				"a removed file": func(t *testing.T, d *dataflow) []int {
					data := d.outputFiles(t, s.directory, ".data")
					victim := moments.Busiest(d.events(t, "mapped"))
					require.NoError(t, os.Remove(data[moments.IndexesOf(d.events(t, "mapped"), victim)[0]]))
					return moments.IndexesOf(d.events(t, "mapped"), victim) // if a file is missing, all map tasks of its executor run again
				},
				"a removed directory": func(t *testing.T, d *dataflow) []int {
					data := d.outputFiles(t, s.directory, ".data")
					victim := moments.Busiest(d.events(t, "mapped"))
					require.NoError(t, os.RemoveAll(filepath.Dir(data[moments.IndexesOf(d.events(t, "mapped"), victim)[0]])))
					return moments.IndexesOf(d.events(t, "mapped"), victim)
				},
			} {
				t.Run(name, func(t *testing.T) {
					d := s.startDataflow(t, settings, []string{"mapped.11"}, "groups")
					d.awaitMapped(t, "", 11) // all map tasks except the held one
					d.awaitEvents(t, "mapped", 12)
					damaged := damage(t, d)
					d.release(t)
					assertSame(t, expected, d.result(t))
					d.assertRuns(t, damaged...)
					assertCounters(t, d, lineCount(expected))
				})
			}
		})
	}
}

func flipByte(t *testing.T, path string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	content[len(content)/2] ^= 1
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// TestDataSetsThatAreNotDeterministic kills an executor whose map tasks generate different
// records when they run again. The result must not mix data that were computed from records of
// different runs.
func TestDataSetsThatAreNotDeterministic(t *testing.T) {
	t.Parallel()
	s := newDataSite(t)
	t.Run("before there are results", func(t *testing.T) {
		settings := map[string]string{"shuffle.partitions": "64"}
		d := s.startDataflow(t, settings, []string{"between.6"}, "-records", "100000", "runs")
		d.awaitEvents(t, "between", 7)
		d.awaitMapped(t, "Group", 6)
		process{pid: moments.Busiest(d.events(t, "mapped"))}.kill()
		await(t, "its map tasks run again", func() bool { return len(d.mapSets(t, "Reduce")) == 2 })
		d.release(t)
		text := d.result(t)
		assert.Equal(t, 12, lineCount(text))
		for line := range strings.Lines(string(text)) {
			assert.Contains(t, line, "\t1\t", "records of several runs of a map task are mixed")
			assert.Contains(t, line, ":100000]", "records are missing")
		}
	})
	t.Run("after a part without a result", func(t *testing.T) {
		d := s.startDataflow(t, nil, []string{"reduced"}, "-unstable", "groups")
		d.awaitEvents(t, "reduced", 6)
		finished, err := filepath.Glob(filepath.Join(filepath.Dir(d.out), ".*", "*", "finished"))
		require.NoError(t, err)
		require.Len(t, finished, 1)
		create(t, filepath.Join(finished[0], "part-00003"))
		process{pid: moments.Busiest(d.events(t, "mapped"))}.kill()
		d.release(t)
		d.assertNotDeterministic(t)
	})
	t.Run("after some results", func(t *testing.T) {
		d := s.startDataflow(t, nil, []string{"reduced.0"}, "-unstable", "groups")
		await(t, "some results are there", func() bool {
			sets, err := d.control.TaskSets()
			require.NoError(t, err)
			return len(sets) == 2 && sets[1].Done > 6
		})
		// The job must fail while a task is held: if this task were the last one and ended before
		// the driver knew of the loss, no map task would run again.
		process{pid: moments.Busiest(d.events(t, "mapped"))}.kill()
		d.assertNotDeterministic(t)
	})
}

// assertNotDeterministic checks that the job fails because it is not deterministic, and that no
// output is left.
func (d *dataflow) assertNotDeterministic(t *testing.T) {
	t.Helper()
	assert.Equal(t, 1, d.wait(t, testTimeout))
	assert.Contains(t, d.lastLine(), "is not deterministic")
	left, err := os.ReadDir(filepath.Dir(d.out))
	require.NoError(t, err)
	assert.Empty(t, left)
}
