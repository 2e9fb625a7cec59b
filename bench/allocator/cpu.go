package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/procfs"
)

// cpuTime returns the sum of the CPU times of a process's current threads. The threads of a Go
// program usually do not end before the program.
func cpuTime(pid int) (time.Duration, error) {
	threads, err := filepath.Glob(filepath.Join(procfs.Directory(pid), "task/*/schedstat"))
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
