package testbed

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/procfs"
)

const (
	sampleInterval = 50 * time.Millisecond // interval between measurements of memory and CPU time
	searchInterval = time.Second           // interval between searches for new processes
)

// MeasuredVariable is the name of an environment variable. Processes that have this variable
// count although they run in no container. Its value is the directory of the Testbed.
const MeasuredVariable = "BENCH_MEASURED"

// Usage is the memory and CPU time of an application's processes.
type Usage struct {
	Peak uint64        // largest sum of the resident memory of all processes, in bytes
	CPU  time.Duration // CPU time of all processes
}

// Measure calls run, which runs one application. It returns the usage of the application's
// processes, and the error of run. applicationProcesses determines which processes count.
func (t *Testbed) Measure(ctx context.Context, run func(context.Context) error) (Usage, error) {
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	sampled := make(chan Usage)
	go func() { sampled <- sample(sampling, t.dir) }()
	err := run(ctx)
	stop()
	return <-sampled, err
}

// sample samples, until ctx ends, the usage of the application that runs on the Testbed in the
// directory dir.
func sample(ctx context.Context, dir string) Usage {
	var result Usage
	var processes []string
	var searched time.Time
	used := map[string]time.Duration{} // CPU time by process
	for ctx.Err() == nil {
		if time.Since(searched) >= searchInterval {
			processes, searched = applicationProcesses(dir), time.Now()
		}
		sum := uint64(0)
		for _, process := range processes {
			resident, err := procfs.ResidentBytes(process)
			if err != nil {
				continue // the process has ended
			}
			sum += resident
			used[process] = max(used[process], cpuTime(process))
		}
		result.Peak = max(result.Peak, sum)
		select {
		case <-time.After(sampleInterval):
		case <-ctx.Done():
		}
	}
	for _, cpu := range used {
		result.CPU += cpu
	}
	return result
}

// clockTick is the unit of CPU times in /proc.
const clockTick = 10 * time.Millisecond

// cpuTime returns the CPU time of a process, or 0 if it has ended.
func cpuTime(process string) time.Duration {
	content, err := os.ReadFile(filepath.Join(process, "stat"))
	if err != nil {
		return 0
	}
	// The second field is the program's name in parentheses. So the slice fields begins with the
	// third field.
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick
}

// applicationProcesses returns the directories in /proc of the processes whose usage counts:
// the ApplicationMaster and the executors. For Spark in client mode, the driver's JVM counts
// instead of the ApplicationMaster. Shells and Python do not count.
func applicationProcesses(dir string) []string {
	all, _ := filepath.Glob("/proc/[0-9]*")
	return slices.DeleteFunc(all, func(process string) bool {
		environ, err := os.ReadFile(filepath.Join(process, "environ"))
		if err != nil {
			return true
		}
		container := bytes.Contains(environ, []byte("CONTAINER_ID=container_")) && bytes.Contains(environ, []byte(dir))
		if !container && !bytes.Contains(environ, []byte(MeasuredVariable+"="+dir)) {
			return true
		}
		program, err := os.Readlink(filepath.Join(process, "exe"))
		name := filepath.Base(program)
		if err != nil || name == "bash" || name == "dash" || strings.HasPrefix(name, "python") {
			return true
		}
		command, err := os.ReadFile(filepath.Join(process, "cmdline"))
		return err != nil || bytes.Contains(command, []byte("ExecutorLauncher")) // Spark's ApplicationMaster in client mode
	})
}
