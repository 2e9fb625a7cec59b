package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
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

// peakMemory samples the resident memory, in bytes, of all processes of the
// application that runs on the cluster in dir, until ctx ends. It returns the largest
// sum. What counts are the AM, the driver and the executors; for Spark, which runs in
// client mode, its driver's JVM instead of an AM with a driver, and no Python.
func peakMemory(ctx context.Context, dir string) uint64 {
	peak, processes, searched := uint64(0), []string(nil), time.Time{}
	for ctx.Err() == nil {
		if time.Since(searched) >= searchInterval {
			processes, searched = applicationProcesses(dir), time.Now()
		}
		sum := uint64(0)
		for _, process := range processes {
			if resident, err := procfs.ResidentBytes(process); err == nil { // else it has ended
				sum += resident
			}
		}
		peak = max(peak, sum)
		select {
		case <-time.After(sampleInterval):
		case <-ctx.Done():
		}
	}
	return peak
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
