//go:build integration

package standalone

import (
	"fmt"
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

	"github.com/bobbin-yarn/bobbin/integration/moments"
)

// startLocal starts a job of dataflow on a local master, such as "local[2]" or
// "local-cluster[3,2,512]".
func (s *site) startLocal(t *testing.T, master string, settings map[string]string, held []string, arguments ...string) *dataflow {
	t.Helper()
	own := map[string]string{"master": master, "log.level": "warn"}
	maps.Copy(own, settings)
	return s.startDataflow(t, own, held, arguments...)
}

// assertNoFiles checks that the site has no temporary files and no processes.
func (s *site) assertNoFiles(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(s.temporaryDirectory())
	require.NoError(t, err)
	assert.Empty(t, left)
	assert.Empty(t, s.processes())
}

// peakResident returns the maximum resident memory of a process so far, in bytes, or 0 if the
// process has ended.
func peakResident(pid int) (bytes int64) {
	status, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "status"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			bytes = kilobytes << 10
		}
	}
	return bytes
}

// watchPeaks starts to measure the resident memory of the site's executors. stop returns the
// maximum for each executor, in bytes, by process id.
func (s *site) watchPeaks() (stop func() map[int]int64) {
	peaks, ended := map[int]int64{}, make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for more := true; more; {
			for _, p := range s.executors() {
				peaks[p.pid] = max(peaks[p.pid], peakResident(p.pid))
			}
			select {
			case <-ended:
				more = false
			case <-time.After(interval):
			}
		}
	})
	return func() map[int]int64 {
		close(ended)
		watching.Wait()
		return peaks
	}
}

// TestDataLargerThanMemory reduces, groups, co-groups, joins and sorts data that are ten times as
// large as the memory of an executor. The test's limit adds overhead for the program's code, and
// half as much again because the garbage collector is late on a busy machine.
func TestDataLargerThanMemory(t *testing.T) {
	const memory, overhead = 48 << 20, 32 << 20
	s := newSite(t, 0, nil)
	master := fmt.Sprintf("local-cluster[2,2,%d]", (memory+overhead)>>20)
	settings := map[string]string{"executor.memory": fmt.Sprintf("%dm", memory>>20), "executor.memoryOverhead": fmt.Sprintf("%dm", overhead>>20)}
	const keys, partitions = 10_000, 30
	for name, arguments := range map[string][]string{ // 10*memory in total
		"counts": {"-records", "43000", "-keys", "100000000", "-padding", "476", "-payload", "8"}, // nearly all keys are different
		"groups": {"-records", "21500", "-keys", itoa(keys), "-payload", "1000", "-check"},
		"joined": {"-records", "21500", "-keys", itoa(keys), "-payload", "1000", "-check"},
		"sorted": {"-records", "21500", "-keys", itoa(keys), "-payload", "500", "-check"},
		"groups with one key's records larger than memory":   {"-records", "21500", "-keys", itoa(keys), "-payload", "1000", "-check", "-hot", "0.5"},
		"cogroups with one key's records larger than memory": {"-records", "21500", "-keys", itoa(keys), "-payload", "1000", "-check", "-hot", "0.5"},
		"joined with one key's records larger than memory":   {"-records", "21500", "-keys", itoa(keys), "-payload", "1000", "-check", "-hot", "0.5", "-right"},
	} {
		t.Run(name, func(t *testing.T) {
			job, _, _ := strings.Cut(name, " ")
			stop := s.watchPeaks()
			d := s.startLocal(t, master, settings, nil, append(arguments, "-partitions", itoa(partitions), job)...)
			text := d.result(t)
			peaks := stop()
			assert.Len(t, peaks, 2)
			for pid, peak := range peaks {
				t.Logf("peak resident memory of executor %d: %d MiB", pid, peak>>20)
				assert.Less(t, peak, int64(memory+overhead)*3/2, "peak resident memory of executor %d", pid)
			}
			s.assertNoFiles(t)
			records := 21500 * partitions
			switch job {
			case "counts":
				records *= 2
				assert.InDelta(t, records, lineCount(text), float64(records)/50)
			case "groups", "cogroups", "joined":
				assert.Equal(t, fmt.Sprintf("records\t%d\n", records), string(text))
			case "sorted":
				sorted, err := moments.RangeRecords(string(text))
				require.NoError(t, err)
				assert.Equal(t, records, sorted)
			}
		})
	}
}

// TestStreamToASlowDriver streams 600 MB to a driver that waits when it has the first element,
// until all tasks have computed theirs. The driver may have only a few results in its memory;
// executors keep the others.
func TestStreamToASlowDriver(t *testing.T) {
	t.Parallel()
	const partitions, records, limit = 120, 10_000, 250 << 20
	s := newSite(t, 0, nil)
	d := s.startLocal(t, "local-cluster[2,2,256]", map[string]string{"executor.memory": "128m"}, []string{"streaming"},
		"-stream", "-partitions", itoa(partitions), "-records", itoa(records), "-payload", "250", "records")
	d.awaitEvents(t, "streaming", 1)
	d.awaitEvents(t, "mapped", partitions)
	d.release(t)
	peak := int64(0)
	await(t, "it has ended", func() bool {
		peak = max(peak, peakResident(d.command.Process.Pid))
		return !d.alive()
	})
	t.Logf("peak resident memory of the driver: %d MiB", peak>>20)
	assert.Less(t, peak, int64(limit))
	require.Zero(t, d.wait(t, testTimeout), "%s", d.stderr.text())
	count, err := os.ReadFile(d.out)
	require.NoError(t, err)
	assert.Equal(t, itoa(partitions*records), string(count))
	s.assertNoFiles(t)
}

// TestCancelledDataSetsLeaveNoFiles interrupts the driver while tasks write map output, and
// while tasks write the result.
func TestCancelledDataSetsLeaveNoFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0, nil)
	for moment, job := range map[string]string{"mapped": "counts", "merging": "counts", "reduced": "sorted"} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(moment+", "+signal.String(), func(t *testing.T) {
				d := s.startLocal(t, "local-cluster[3,2,512]", nil, []string{moment}, job)
				d.awaitEvents(t, moment, 2)
				require.NoError(t, d.command.Process.Signal(signal))
				assert.NotZero(t, d.wait(t, testTimeout))
				s.assertNoFiles(t)
				left, err := os.ReadDir(filepath.Dir(d.out))
				require.NoError(t, err)
				assert.Empty(t, left, "output is left")
			})
		}
	}
}

// TestOneKeyWithHalfOfAllRecords checks that jobs with one very frequent key need at most twice
// the CPU time of the same jobs with uniformly distributed keys.
func TestOneKeyWithHalfOfAllRecords(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0, nil)
	seconds := func(t *testing.T, job, hot string) float64 {
		d := s.startLocal(t, "local[2]", nil, nil, "-records", "60000", "-keys", "60000", "-payload", "200", "-hot", hot, "-check", job)
		d.result(t)
		state := d.command.ProcessState
		return (state.UserTime() + state.SystemTime()).Seconds()
	}
	for _, job := range []string{"counts", "groups", "parts", "joined", "sorted"} {
		t.Run(job, func(t *testing.T) {
			uniform, skewed := seconds(t, job, "0"), seconds(t, job, "0.5")
			t.Logf("uniform %.2f s, with one key in half of all records %.2f s", uniform, skewed)
			assert.LessOrEqual(t, skewed, 2*uniform)
		})
	}
}

// TestTimeWithOneKeyOfHalfOfAllRecords checks that jobs with one very frequent key need at most
// twice the time of the same jobs with uniformly distributed keys. Functions wait for each record,
// so that the time shows how well the records are divided among the cores, however many the
// machine has. The times are the fastest of three runs. With c cores, a job whose records are not
// divided takes up to c/2 times as long: a join and GroupInParts divide the records of the key, and
// Group does not.
func TestTimeWithOneKeyOfHalfOfAllRecords(t *testing.T) {
	t.Parallel()
	s := newSite(t, 0, nil)
	for _, c := range []struct{ job, master string }{
		{"groups", "local-cluster[3,1,512]"},
		{"parts", "local-cluster[8,1,512]"},
		{"joined", "local-cluster[8,1,512]"},
	} {
		t.Run(c.job, func(t *testing.T) {
			run := func(hot string) time.Duration {
				d := s.startLocal(t, c.master, map[string]string{"executor.cores": "1", "executor.memory": "256m"}, nil,
					"-keys", "20000", "-payload", "100", "-delay", "20us", "-hot", hot, "-check", c.job)
				d.result(t)
				took, err := time.ParseDuration(strings.TrimSpace(d.stdout.text()))
				require.NoError(t, err)
				return took
			}
			var uniform, skewed []time.Duration
			for range 3 { // in turn, because other tests change the load of the machine
				uniform = append(uniform, run("0"))
				skewed = append(skewed, run("0.5"))
			}
			t.Logf("uniform %v, with one key in half of all records %v", uniform, skewed)
			assert.LessOrEqual(t, slices.Min(skewed), 2*slices.Min(uniform))
		})
	}
}
