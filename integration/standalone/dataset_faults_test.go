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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/integration/moments"
)

// throttle lets a process run for only a tenth of the time, until stop is called.
func (p process) throttle() (stop func()) {
	ended := make(chan struct{})
	var slowing sync.WaitGroup
	slowing.Go(func() {
		for more := true; more; {
			_ = syscall.Kill(p.pid, syscall.SIGSTOP) // fails if the process has ended
			select {
			case <-ended:
				more = false
			case <-time.After(90 * time.Millisecond):
			}
			_ = syscall.Kill(p.pid, syscall.SIGCONT)
			time.Sleep(10 * time.Millisecond)
		}
	})
	return func() {
		close(ended)
		slowing.Wait()
	}
}

// fetchFromSlowExecutor throttles an executor while others fetch map output from it.
func fetchFromSlowExecutor(t *testing.T, s *site, expected []byte) {
	d := s.startDataflow(t, fetchingSettings, []string{"mapped", "merging"}, append(fetchingArguments, "counts")...)
	d.mapOnAll(t, 3)
	stop := process{pid: d.awaitEvents(t, "merging", 3)[0].PID}.throttle()
	defer stop()
	d.release(t)
	assertSame(t, expected, d.result(t))
	d.assertRuns(t)
	d.assertMapSets(t, 12)
}

// fetchFromSilentExecutor suspends an executor while others fetch map output from it. The
// kernel still accepts connections to its port.
func fetchFromSilentExecutor(t *testing.T, s *site, expected []byte) {
	settings := map[string]string{"network.timeout": "5s", "executor.heartbeatInterval": "500ms"}
	maps.Copy(settings, fetchingSettings)
	d := s.startDataflow(t, settings, []string{"mapped", "merging"}, append(fetchingArguments, "counts")...)
	d.mapOnAll(t, 3)
	victim := d.awaitEvents(t, "merging", 3)[0].PID
	lost := moments.IndexesOf(d.events(t, "mapped"), victim)
	require.NoError(t, syscall.Kill(victim, syscall.SIGSTOP))
	d.release(t)
	assertSame(t, expected, d.result(t))
	d.assertRuns(t, lost...)
	d.assertMapSets(t, 12, len(lost))
}

// startOnWorkers starts counts with two executors on each worker, and waits until all executors
// have map output and fetch. It returns a worker, the process ids of its executors, and the
// indexes of the map tasks that these executors have run.
func (s *site) startOnWorkers(t *testing.T, service string) (d *dataflow, worker *daemon, executors, mapped []int) {
	settings := map[string]string{"executor.cores": "1", "shuffle.service": service}
	maps.Copy(settings, fetchingSettings)
	d = s.startDataflow(t, settings, []string{"mapped", "merging"}, append(fetchingArguments, "counts")...)
	d.mapOnAll(t, 6)
	merging, all := d.awaitEvents(t, "merging", 6), d.events(t, "mapped")
	runs := func(w *daemon, pid int) bool {
		return strings.Contains(s.environmentOf(pid), filepath.Join(s.directory, w.name)+"/")
	}
	at := slices.IndexFunc(s.workers, func(w *daemon) bool { return runs(w, merging[0].PID) })
	require.GreaterOrEqual(t, at, 0)
	worker = s.workers[at]
	for _, e := range merging {
		if runs(worker, e.PID) {
			executors = append(executors, e.PID)
			mapped = append(mapped, moments.IndexesOf(all, e.PID)...)
		}
	}
	require.Len(t, executors, 2)
	require.NotEmpty(t, mapped)
	slices.Sort(mapped)
	return d, worker, executors, mapped
}

// fetchFromLostWorker kills a worker, and thereby its two executors, while others fetch map
// output from these executors. The map tasks of both executors must run again in one attempt of
// the map stage.
func fetchFromLostWorker(t *testing.T, s *site, expected []byte, service string) {
	d, worker, victims, lost := s.startOnWorkers(t, service)
	worker.kill(t)
	defer worker.start(t)
	await(t, "its executors are gone", func() bool {
		return !slices.ContainsFunc(victims, func(pid int) bool { return s.environmentOf(pid) != "" })
	})
	d.release(t)
	assertSame(t, expected, d.result(t))
	d.assertRuns(t, lost...)
	d.assertMapSets(t, 12, len(lost))
}

// fetchFromSilentPort makes the data port of an executor not respond to fetches. The executor
// still runs tasks and sends heartbeats. If at first the fetches of only one other executor
// time out, map tasks can run again on the silent executor. So a map task may run three times.
func fetchFromSilentPort(t *testing.T, s *site, expected []byte) {
	settings := map[string]string{"network.timeout": "10s", "executor.heartbeatInterval": "500ms"}
	maps.Copy(settings, fetchingSettings)
	d := s.startDataflow(t, settings, []string{"mapped.11"}, append(fetchingArguments, "counts")...)
	d.awaitMapped(t, "", 11)
	mapped := d.awaitEvents(t, "mapped", 12)
	victim := moments.Busiest(mapped)
	silencePorts(t, victim)
	d.release(t)
	assertSame(t, expected, d.result(t))
	lost := moments.IndexesOf(mapped, victim)
	for index, times := range moments.Times(d.events(t, "mapping")) {
		assert.LessOrEqual(t, times, 3, "task %d", index)
		assert.Equal(t, slices.Contains(lost, index), times > 1, "only lost map tasks run again: task %d", index)
	}
	assert.NotContains(t, d.stderr.text(), "executor lost")
}

// silencePorts makes a process accept connections without responding: a socket filter in the
// kernel drops all data that arrive on connections that its listening sockets accept from now
// on.
func silencePorts(t *testing.T, pid int) {
	t.Helper()
	process, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	defer func() { assert.NoError(t, unix.Close(process)) }()
	files, err := os.ReadDir(filepath.Join("/proc", itoa(pid), "fd"))
	require.NoError(t, err)
	const headerLength = 12 // offset of the TCP header's length, which is in the upper half of a byte in units of 4 bytes
	withoutData := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: headerLength}, // A = the byte with the header's length
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf0},        // A = its upper half, which is 16 times the length
		{Code: unix.BPF_ALU | unix.BPF_RSH | unix.BPF_K, K: 2},           // A = the header's length in bytes
		{Code: unix.BPF_MISC | unix.BPF_TAX},                             // X = A
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_LEN},                  // A = the segment's length in bytes
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_X, Jt: 1},          // if A > X, the segment has data: skip the next step
		{Code: unix.BPF_RET | unix.BPF_K, K: 1<<32 - 1},                  // accept the segment
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},                          // drop the segment
	}
	silenced := 0
	for _, file := range files {
		number, err := strconv.Atoi(file.Name())
		require.NoError(t, err)
		copied, err := unix.PidfdGetfd(process, number, 0)
		if err != nil {
			continue // the socket has been closed
		}
		if listens, err := unix.GetsockoptInt(copied, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err == nil && listens == 1 {
			require.NoError(t, unix.SetsockoptSockFprog(copied, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
				&unix.SockFprog{Len: uint16(len(withoutData)), Filter: &withoutData[0]}))
			silenced++
		}
		require.NoError(t, unix.Close(copied))
	}
	require.Positive(t, silenced, "the process has no port, or this user may not take its files")
}

// startIdle starts counts with three executors, of which one fetches. Dynamic allocation stops
// idle executors.
func (s *site) startIdle(t *testing.T, service string) *dataflow {
	settings := map[string]string{
		"dynamicAllocation.enabled": "true", "dynamicAllocation.initialExecutors": "3",
		"dynamicAllocation.executorIdleTimeout": "1s", "dynamicAllocation.cachedExecutorIdleTimeout": "1s",
		"executor.memory": "128m", "shuffle.partitions": "1", "shuffle.service": service,
	}
	d := s.startDataflow(t, settings, []string{"mapped", "merging"}, append(fetchingArguments, "counts")...)
	s.awaitExecutors(t, 3)
	d.release(t, "mapped")
	d.awaitEvents(t, "merging", 1)
	return d
}

// assertSorted checks that the result has the expected lines in any order, because the number
// of partitions differs from that of the expected result.
func (d *dataflow) assertSorted(t *testing.T, expected []byte) {
	t.Helper()
	got, sorted := d.result(t), bytes.Clone(expected)
	sortLines(got)
	sortLines(sorted)
	assertSame(t, sorted, got)
}

// fetchFromIdleExecutors lets dynamic allocation stop the two idle executors from which the third
// fetches. They must move their map output first. The third must fetch again before it has been
// idle long enough to be stopped.
func fetchFromIdleExecutors(t *testing.T, s *site, expected []byte) {
	d := s.startIdle(t, "off")
	await(t, "idle executors hand over their data and end", func() bool {
		done, err := d.control.HandedOver()
		require.NoError(t, err)
		return done && len(s.executors()) < 2
	})
	d.release(t)
	d.assertSorted(t, expected)
	d.assertRuns(t)
	d.assertMapSets(t, 12)
}

// fetchFromWorkerOfKilledExecutors kills all executors of a worker while others fetch map output
// from them. The worker must serve their map output, and remove it when the application has ended.
func fetchFromWorkerOfKilledExecutors(t *testing.T, s *site, expected []byte) {
	d, _, victims, _ := s.startOnWorkers(t, "required")
	for _, victim := range victims {
		process{pid: victim}.kill()
	}
	d.release(t)
	assertSame(t, expected, d.result(t))
	d.assertRuns(t)
	d.assertMapSets(t, 12)
	await(t, "workers have removed the map outputs", func() bool {
		left, err := filepath.Glob(filepath.Join(s.directory, "worker-*", "*", "shuffle"))
		require.NoError(t, err)
		return len(left) == 0
	})
}

// fetchFromWorkersOfIdleExecutors lets dynamic allocation stop idle executors from which another fetches.
// They must not move their map output to other executors, because their workers serve it.
func fetchFromWorkersOfIdleExecutors(t *testing.T, s *site, expected []byte) {
	d := s.startIdle(t, "required")
	await(t, "an idle executor has ended", func() bool { return len(s.executors()) < 3 })
	d.release(t)
	d.assertSorted(t, expected)
	d.assertRuns(t)
	d.assertMapSets(t, 12)
	sets, err := d.control.TaskSets()
	require.NoError(t, err)
	for _, set := range sets {
		assert.False(t, strings.HasPrefix(set.Name, "data of executor "), set.Name)
	}
}

// mountSmall mounts an in-memory file system of the given size until the test ends. It requires
// root.
func mountSmall(t *testing.T, bytes int64) (directory string) {
	t.Helper()
	directory = t.TempDir()
	require.NoError(t, unix.Mount("tmpfs", directory, "tmpfs", 0, fmt.Sprintf("size=%d", bytes)), "only root may mount a file system")
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(directory, 0)) })
	return directory
}

// assertNoShuffleFiles checks that a directory contains no temporary files of shuffles and
// sorts.
func assertNoShuffleFiles(t *testing.T, directory string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(directory, func(path string, _ fs.DirEntry, err error) error {
		assert.False(t, strings.Contains(filepath.Base(path), "shuffle") || strings.HasPrefix(filepath.Base(path), "sort-"), "%s is left", path)
		return err
	}))
}

// TestDataSetsOnFullDisks lets map output fill the disk of a worker: first of the only worker,
// and then of one of several workers.
func TestDataSetsOnFullDisks(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(program("dataflow"))
	require.NoError(t, err)
	disk := mountSmall(t, info.Size()+2<<20) // the worker stores the program; a map output has 1.6 MB, and an executor writes two at a time
	s := newSite(t, 1, nil)
	require.NoError(t, os.Symlink(disk, filepath.Join(s.directory, "worker-0")))
	s.startMasters(t)
	s.startWorkerAs(t, "127.0.0.81", 2)
	s.awaitWorkers(t, 1)

	failing := s.startDataflow(t, nil, nil, "groups")
	require.Equal(t, 1, failing.wait(t, testTimeout), "%s", failing.stderr.text())
	for _, text := range []string{"/worker-0/", "/bobbin-shuffle-", "no space left on device", "free space", "worker.dir"} {
		assert.Contains(t, failing.lastLine(), text)
	}
	left, err := os.ReadDir(filepath.Dir(failing.out))
	require.NoError(t, err)
	assert.Empty(t, left)
	await(t, "the executor has ended", func() bool { return len(s.executors()) == 0 })
	assertNoShuffleFiles(t, disk)

	s.startWorkerAs(t, "127.0.0.82", 2)
	s.startWorkerAs(t, "127.0.0.83", 2)
	s.awaitWorkers(t, 3)
	expected := s.startLocal(t, "local[2]", nil, nil, "groups").result(t)
	d := s.startDataflow(t, nil, []string{"mapping"}, "groups")
	d.awaitEvents(t, "mapping", 6) // all three executors run tasks
	d.release(t)
	assertSame(t, expected, d.result(t))
	assertCounters(t, d, lineCount(expected))
	assert.Contains(t, d.stderr.text(), "no space left on device")
	await(t, "the executors have ended", func() bool { return len(s.executors()) == 0 })
	assertNoShuffleFiles(t, disk)
}
