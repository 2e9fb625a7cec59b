package guard

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/procfs"
)

// deaf are the signals that a guard passes over: it ends when its worker does.
var deaf = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPWR}

// belonging are the live processes that bear one of the signs, but for the one
// that asks.
func belonging(mark string, sessions map[int]bool) ([]int, error) {
	directory, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("find processes: %w", err)
	}
	defer func() { _ = directory.Close() }()
	entries, err := directory.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("find processes: %w", err)
	}
	variable := []byte(launch.EnvContainer + "=" + mark)
	own := os.Getpid()
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry)
		if err != nil || pid == own {
			continue
		}
		state, session, err := status(procfs.Directory(pid))
		if err != nil || state == 'Z' || state == 'X' {
			continue // it has ended
		}
		if sessions[session] || marked(procfs.Directory(pid), variable) {
			found = append(found, pid)
		}
	}
	return found, nil
}

// marked reports whether a variable of a process begins as variable does. That
// of another user's process cannot be read, and one that was started here is
// none.
func marked(directory string, variable []byte) bool {
	environment, err := os.ReadFile(filepath.Join(directory, "environ"))
	if err != nil {
		return false
	}
	return bytes.HasPrefix(environment, variable) || bytes.Contains(environment, append([]byte{0}, variable...))
}

// status is a process's state and session, the third and the sixth field of its
// stat (proc_pid_stat(5)). The second is the program's name in parentheses, in
// which anything may stand.
func status(directory string) (state byte, session int, err error) {
	content, err := os.ReadFile(filepath.Join(directory, "stat"))
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < 4 || len(fields[0]) != 1 {
		return 0, 0, fmt.Errorf("%s/stat: %q", directory, content)
	}
	if session, err = strconv.Atoi(string(fields[3])); err != nil {
		return 0, 0, fmt.Errorf("%s/stat: %w", directory, err)
	}
	return fields[0][0], session, nil
}
