package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// spareFiles is how many files a process has open beside its connections.
const spareFiles = 100

// checkFiles finds a limit that is too low before anything is started. Go's
// runtime has raised it as far as a process may.
func checkFiles(r round) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("the limit of open files: %w", err)
	}
	if needed := uint64(r.Executors + spareFiles); limit.Cur < needed {
		return fmt.Errorf("the driver needs %d open files, a connection for each executor, and may have %d: raise the limit (as root: ulimit -n %d) "+
			"or give fewer -executors", needed, limit.Cur, needed)
	}
	return nil
}

// liveBytes is the memory that is in use after what is not has been found out.
func liveBytes() uint64 {
	runtime.GC()
	runtime.GC() // finds what finalizers and pools let go after the first
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc + memory.StackInuse
}

// allocated is how many bytes this process's heap has given out so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// collectorTime is what the collector of this process's memory has taken so far of
// the CPU's time, as the runtime estimates it: rather too much.
func collectorTime() time.Duration {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(sample)
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}

// cpuTime is what this process has taken so far, user and system.
func cpuTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("this process's CPU time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// mostResident is the most memory that this process has had in RAM, in bytes,
// from the line VmHWM of /proc/self/status.
func mostResident() (uint64, error) {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "VmHWM:"); found {
			kibibytes, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kibibytes << 10, err
		}
	}
	return 0, errors.New("/proc/self/status tells no VmHWM")
}

// profile is a CPU profile being written.
type profile struct{ file *os.File }

// profileHeap writes a heap profile into a file; none where its name is empty.
func profileHeap(name string) error {
	if name == "" {
		return nil
	}
	runtime.GC() // a profile is of the latest collection
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(pprof.WriteHeapProfile(file), file.Close())
}

// startProfile begins a CPU profile in a file; none where its name is empty.
func startProfile(name string) (profile, error) {
	if name == "" {
		return profile{}, nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return profile{}, err
	}
	file, err := os.Create(name)
	if err != nil {
		return profile{}, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return profile{}, errors.Join(err, file.Close())
	}
	return profile{file}, nil
}

func (p profile) stop() error {
	if p.file == nil {
		return nil
	}
	pprof.StopCPUProfile()
	return p.file.Close()
}
