package guard

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/procfs"
)

// ignoredSignals are the signals that a guard ignores, because it must outlive its worker.
var ignoredSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPWR}

// findProcesses adds live processes to the map found: those of the sessions, and those whose
// variable launch.EnvContainer begins with mark. It ignores the calling process, and processes
// whose start time is earlier than since. It skips the kernel threads in kernelThreads, and
// adds the kernel threads that it finds.
func findProcesses(mark string, sessionIDs map[int]bool, since Time, found map[int]Time, kernelThreads map[int]bool) error {
	directory, err := os.Open("/proc")
	if err != nil {
		return fmt.Errorf("find processes: %w", err)
	}
	defer func() { _ = directory.Close() }()
	entries, err := directory.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("find processes: %w", err)
	}
	variable := []byte(launch.EnvContainer + "=" + mark)
	own := os.Getpid()
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry)
		if err != nil || pid == own || kernelThreads[pid] {
			continue
		}
		// Getsid returns 0 for sessions outside this PID namespace, and for kernel threads. 0 is
		// never in sessionIDs, so such a process is found only by its environment.
		session, err := unix.Getsid(pid)
		if err != nil {
			continue // the process has ended
		}
		p, err := statusOf(procfs.Directory(pid))
		if err != nil {
			continue
		}
		if p.kernel {
			kernelThreads[pid] = true
			continue
		}
		if p.ended() || p.started < since {
			continue
		}
		if sessionIDs[session] || p.marked(procfs.Directory(pid), variable) {
			found[pid] = p.started
		}
	}
	return nil
}

func hasEnded(pid int, started Time) bool {
	p, err := statusOf(procfs.Directory(pid))
	return err != nil || p.started != started || p.ended()
}

// marked reports whether the process has an environment variable that begins with variable. If
// the main thread has ended, marked reads the environment from another thread's directory.
func (p processStatus) marked(directory string, variable []byte) bool {
	if p.state != 'Z' && p.state != 'X' {
		return hasVariable(directory, variable)
	}
	threads, _ := filepath.Glob(filepath.Join(directory, "task", "*"))
	return slices.ContainsFunc(threads, func(thread string) bool { return hasVariable(thread, variable) })
}

// hasVariable reports whether a process or a thread has an environment variable that begins
// with variable. It returns false for processes of other users, whose environment cannot be
// read.
func hasVariable(directory string, variable []byte) bool {
	environment, err := os.ReadFile(filepath.Join(directory, "environ"))
	if err != nil {
		return false
	}
	return bytes.HasPrefix(environment, variable) || bytes.Contains(environment, append([]byte{0}, variable...))
}

// kernelThread is PF_KTHREAD of include/linux/sched.h.
const kernelThread = 0x00200000

// Started returns the start time of a process. The process may be a zombie.
func Started(pid int) (Time, error) {
	p, err := statusOf(procfs.Directory(pid))
	return p.started, err
}

// processStatus has fields 3, 9, 20 and 22 of /proc/PID/stat (see proc_pid_stat(5)).
type processStatus struct {
	state   byte // state of the main thread
	kernel  bool // whether the process is a kernel thread
	threads int
	started Time
}

// ended reports whether the process is a zombie with no living thread.
func (p processStatus) ended() bool { return (p.state == 'Z' || p.state == 'X') && p.threads <= 1 }

// statusOf reads the file stat in the directory of a process or thread. The file's second
// field is the program's name in parentheses; the name may contain any character.
func statusOf(directory string) (processStatus, error) {
	content, err := os.ReadFile(filepath.Join(directory, "stat"))
	if err != nil {
		return processStatus{}, err
	}
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return processStatus{}, fmt.Errorf("%s/stat: %q", directory, content)
	}
	p := processStatus{state: fields[0][0]}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	if err != nil {
		return processStatus{}, fmt.Errorf("%s/stat: %w", directory, err)
	}
	p.kernel = flags&kernelThread != 0
	started, err := strconv.ParseUint(string(fields[19]), 10, 64)
	if err != nil {
		return processStatus{}, fmt.Errorf("%s/stat: %w", directory, err)
	}
	p.started = Time(started)
	if p.threads, err = strconv.Atoi(string(fields[17])); err != nil {
		return processStatus{}, fmt.Errorf("%s/stat: %w", directory, err)
	}
	return p, nil
}

// setProcessName sets the process's name in the output of ps and top, which is "exe" by
// default.
func setProcessName(name string) { _ = os.WriteFile("/proc/self/comm", []byte(name), 0) }
