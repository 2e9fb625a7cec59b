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

// deaf are the signals that a guard passes over: it ends when its worker does.
var deaf = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPWR}

// belonging adds the live processes to those found that bear one of the signs and
// started at since or later, but for the one that asks. It passes over those that
// are known to be threads of the kernel, and adds to these.
func belonging(mark string, sessions map[int]bool, since Time, found map[int]Time, kernel map[int]bool) error {
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
		if err != nil || pid == own || kernel[pid] {
			continue
		}
		// 0 is a session that began outside this namespace of processes, where a
		// container's first process led none, and what threads of the kernel have.
		session, err := unix.Getsid(pid)
		if err != nil {
			continue // it has ended
		}
		p, err := statusOf(procfs.Directory(pid))
		if err != nil {
			continue
		}
		if p.kernel {
			kernel[pid] = true
			continue
		}
		if p.ended() || p.started < since {
			continue
		}
		if sessions[session] || p.marked(procfs.Directory(pid), variable) {
			found[pid] = p.started
		}
	}
	return nil
}

// hasEnded reports whether the process that started then has.
func hasEnded(pid int, started Time) bool {
	p, err := statusOf(procfs.Directory(pid))
	return err != nil || p.started != started || p.ended()
}

// marked reports whether a variable of a process begins as variable does. Where
// its first thread has ended, another one has it.
func (p processStatus) marked(directory string, variable []byte) bool {
	if p.state != 'Z' && p.state != 'X' {
		return hasVariable(directory, variable)
	}
	threads, _ := filepath.Glob(filepath.Join(directory, "task", "*"))
	return slices.ContainsFunc(threads, func(thread string) bool { return hasVariable(thread, variable) })
}

// hasVariable looks into the environment of a process or a thread. That of
// another user's process cannot be read, and one that was started here is none.
func hasVariable(directory string, variable []byte) bool {
	environment, err := os.ReadFile(filepath.Join(directory, "environ"))
	if err != nil {
		return false
	}
	return bytes.HasPrefix(environment, variable) || bytes.Contains(environment, append([]byte{0}, variable...))
}

// kernelThread is PF_KTHREAD of include/linux/sched.h.
const kernelThread = 0x00200000

// Started is when a process did that has not been waited for.
func Started(pid int) (Time, error) {
	p, err := statusOf(procfs.Directory(pid))
	return p.started, err
}

// processStatus is what the third, the ninth, the 20th and the 22nd field of a
// process's stat tell (proc_pid_stat(5)).
type processStatus struct {
	state   byte // of its first thread
	kernel  bool // it is a thread of the kernel
	threads int
	started Time
}

// ended tells whether it only has not been waited for yet. Where its first
// thread alone has ended, the others may go on.
func (p processStatus) ended() bool { return (p.state == 'Z' || p.state == 'X') && p.threads <= 1 }

// statusOf reads the stat in a process's directory. Its second field is the
// program's name in parentheses, in which anything may stand.
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

// callMe has lists of processes show a name: that of the program would be "exe".
func callMe(name string) { _ = os.WriteFile("/proc/self/comm", []byte(name), 0) }
