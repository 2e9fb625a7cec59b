package worker

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// machineMemory returns the memory of this machine or container in bytes, or 0 if it cannot be
// read.
func machineMemory() int64 {
	content, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	total := memTotal(content)
	// A container's memory limit is in one of these files (cgroup versions 2 and 1).
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

// spawner starts all processes from one thread, which lives as long as the spawner. The kernel
// sends a process its parent-death signal when the thread that started it ends
// (PR_SET_PDEATHSIG(2const)), and the Go runtime may end any other thread.
type spawner struct {
	requests chan spawnRequest
	running  sync.WaitGroup
}

type spawnRequest struct {
	command *exec.Cmd
	started chan error
}

// newSpawner starts the spawner's thread. close ends the thread.
func newSpawner() *spawner {
	s := &spawner{requests: make(chan spawnRequest)}
	s.running.Go(func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		for request := range s.requests {
			request.started <- request.command.Start()
		}
	})
	return s
}

// start starts a command in a new session. The kernel kills the command when this process
// ends.
func (s *spawner) start(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	request := spawnRequest{command, make(chan error, 1)}
	s.requests <- request
	return <-request.started
}

func (s *spawner) close() {
	close(s.requests)
	s.running.Wait()
}

// awaitExit waits until a child process has ended. The child remains a zombie, so that its
// process id and session number are not reused.
func awaitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

var decommissionSignal os.Signal = syscall.SIGPWR
