package main

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
	sampleInterval = 50 * time.Millisecond
	searchInterval = time.Second // for new processes
)

// envMeasured marks processes whose memory counts although they run in no container.
const envMeasured = "BENCH_MEASURED="

// usage is what the processes of an application use.
type usage struct {
	peak uint64        // largest sum of their resident memory, in bytes
	cpu  time.Duration // CPU time of all
}

// watch samples the usage of all processes of the application that runs on the
// cluster in dir, until ctx ends. What counts are the AM, the driver and the executors; for
// Spark, which runs in client mode, its driver's JVM instead of an AM with a driver, and
// no Python.
func watch(ctx context.Context, dir string) usage {
	var result usage
	var processes []string
	var searched time.Time
	used := map[string]time.Duration{} // by process
	for ctx.Err() == nil {
		if time.Since(searched) >= searchInterval {
			processes, searched = applicationProcesses(dir), time.Now()
		}
		sum := uint64(0)
		for _, process := range processes {
			resident, err := procfs.ResidentBytes(process)
			if err != nil {
				continue // it has ended
			}
			sum += resident
			used[process] = max(used[process], cpuTime(process))
		}
		result.peak = max(result.peak, sum)
		select {
		case <-time.After(sampleInterval):
		case <-ctx.Done():
		}
	}
	for _, cpu := range used {
		result.cpu += cpu
	}
	return result
}

// clockTick is the unit of times in /proc.
const clockTick = 10 * time.Millisecond

// cpuTime returns the CPU time of a process, or 0 if it has ended.
func cpuTime(process string) time.Duration {
	content, err := os.ReadFile(filepath.Join(process, "stat"))
	if err != nil {
		return 0
	}
	// The fields after the program's name, which is in parentheses, begin with the third.
	fields := strings.Fields(string(content[bytes.LastIndexByte(content, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick
}

// applicationProcesses returns the directories in /proc of the processes that count.
func applicationProcesses(dir string) []string {
	all, _ := filepath.Glob("/proc/[0-9]*")
	return slices.DeleteFunc(all, func(process string) bool {
		environ, err := os.ReadFile(filepath.Join(process, "environ"))
		if err != nil {
			return true
		}
		container := bytes.Contains(environ, []byte("CONTAINER_ID=container_")) && bytes.Contains(environ, []byte(dir))
		if !container && !bytes.Contains(environ, []byte(envMeasured+dir)) {
			return true
		}
		program, err := os.Readlink(filepath.Join(process, "exe"))
		name := filepath.Base(program)
		if err != nil || name == "bash" || name == "dash" || strings.HasPrefix(name, "python") {
			return true
		}
		command, err := os.ReadFile(filepath.Join(process, "cmdline"))
		return err != nil || bytes.Contains(command, []byte("ExecutorLauncher")) // Spark's AM in client mode
	})
}
