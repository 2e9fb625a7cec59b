package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpuTime is what a process's threads have used of the processors. Go's threads
// do not end, so none is missing.
func cpuTime(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		return 0, fmt.Errorf("the threads of process %d: %w", pid, os.ErrNotExist)
	}
	var sum time.Duration
	for _, thread := range threads {
		content, err := os.ReadFile(thread)
		if err != nil {
			return 0, err
		}
		used, _, _ := strings.Cut(string(content), " ")
		nanoseconds, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", thread, err)
		}
		sum += time.Duration(nanoseconds)
	}
	return sum, nil
}

// residentMB is a process's resident memory, in MB of 1,000,000 bytes.
func residentMB(pid int) (float64, error) {
	name := fmt.Sprintf("/proc/%d/statm", pid)
	content, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(content))
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s: %q", name, content)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return float64(pages) * float64(os.Getpagesize()) / 1e6, nil
}
