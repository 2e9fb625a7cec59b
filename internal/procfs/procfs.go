// Package procfs reads the memory use of processes from /proc.
package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Self is the directory of the calling process in /proc.
const Self = "/proc/self"

// Directory returns the directory of a process in /proc.
func Directory(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid)) }

// ResidentBytes returns the resident memory (RSS) of the process with the given directory in
// /proc. It reads the number of pages in the second field of the file "statm".
func ResidentBytes(directory string) (uint64, error) {
	name := filepath.Join(directory, "statm")
	content, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(content))
	if len(fields) < 2 {
		return 0, fmt.Errorf("%s: %q", name, content)
	}
	pages, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return pages * uint64(os.Getpagesize()), nil
}

// PeakResidentBytes returns the peak resident memory of the process with the given directory in
// /proc. It reads the line VmHWM of the file "status".
func PeakResidentBytes(directory string) (uint64, error) {
	name := filepath.Join(directory, "status")
	content, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(content), "\nVmHWM:")
	text, _, found := strings.Cut(after, " kB\n")
	kilobytes, err := strconv.ParseUint(strings.TrimSpace(text), 10, 54)
	if !found || err != nil {
		return 0, fmt.Errorf("%s: there is no VmHWM in kB", name)
	}
	return kilobytes << 10, nil
}
