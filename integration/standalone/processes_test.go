//go:build integration

package standalone

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// process is a process of a site.
type process struct {
	pid         int
	role        launch.Role
	commandLine string
	environ     []byte
}

// processes returns the site's processes. It recognizes them by the site's directory, which is
// in their environment or in the path of their program.
func (s *site) processes() []process {
	var found []process
	directories, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err) // only if the pattern is malformed
	}
	for _, directory := range directories {
		pid, err := strconv.Atoi(filepath.Base(directory))
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(filepath.Join(directory, "environ"))
		if err != nil {
			continue // the process has ended
		}
		executable, _ := os.Readlink(filepath.Join(directory, "exe"))
		if !bytes.Contains(environ, []byte(s.directory)) && !strings.HasPrefix(executable, s.directory+"/") {
			continue
		}
		if state, err := os.ReadFile(filepath.Join(directory, "stat")); err != nil || isZombie(state) {
			continue
		}
		commandLine, _ := os.ReadFile(filepath.Join(directory, "cmdline"))
		found = append(found, process{
			pid: pid, role: launch.Role(variable(environ, launch.EnvRole)), environ: environ,
			commandLine: string(bytes.ReplaceAll(bytes.TrimRight(commandLine, "\x00"), []byte{0}, []byte{' '})),
		})
	}
	return found
}

// isZombie reports whether a process is a zombie. stat is the content of its file
// /proc/PID/stat.
func isZombie(stat []byte) bool {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > 0 && string(fields[0]) == "Z"
}

func (s *site) executors() []process { return s.inRole(launch.RoleExecutor) }

// drivers returns the driver processes that run on workers.
func (s *site) drivers() []process {
	var found []process
	for _, p := range s.inRole("") {
		if variable(p.environ, launch.EnvContainer) != "" {
			found = append(found, p)
		}
	}
	return found
}

func (s *site) inRole(role launch.Role) []process {
	var found []process
	for _, p := range s.processes() {
		if p.role == role {
			found = append(found, p)
		}
	}
	return found
}

func pids(processes []process) []int {
	ids := make([]int, len(processes))
	for i, p := range processes {
		ids[i] = p.pid
	}
	return ids
}

// kill kills the process with SIGKILL. It does nothing if the process has ended.
func (p process) kill() { _ = syscall.Kill(p.pid, syscall.SIGKILL) }

func variable(environ []byte, name string) string {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}
