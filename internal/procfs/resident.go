// Package procfs reads what Linux tells of a process below /proc.
package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Self is the directory of the process that reads it.
const Self = "/proc/self"

// Directory is that of a process.
func Directory(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid)) }

// ResidentBytes is how much memory of a process is in RAM, from the second field
// of statm in its directory, which counts pages.
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
