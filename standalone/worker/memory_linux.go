package worker

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// machineMemory is the memory of this machine, or of the container that the
// worker is in, in bytes; 0 where Linux does not say.
func machineMemory() int64 {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	total := memTotal(content)
	// The files are those of cgroups 2 and 1, as a container sees its own.
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		content, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64); err == nil && limit > 0 && limit < total {
			total = limit
		}
	}
	return total
}

// memTotal reads the line "MemTotal: 16384 kB" (proc_meminfo(5)).
func memTotal(meminfo []byte) int64 {
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			kibibytes, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return kibibytes * int64(config.KiB)
		}
	}
	return 0
}
