//go:build integration

package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// process is a process on this machine that runs in a container of an application.
type process struct {
	pid         int
	container   string
	role        launch.Role
	executable  string
	environ     []byte
	commandLine []byte
}

// root returns the path of the process's root directory, as this process sees it.
func (p process) root() string { return fmt.Sprintf("/proc/%d/root", p.pid) }

// processes returns the processes in containers of an application. It recognizes them by the
// environment variable CONTAINER_ID, which NodeManagers set.
func processes(applicationID string) []process {
	_, number, _ := strings.Cut(applicationID, "_") // container ids are container_<number>_01_000001
	var found []process
	directories, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err) // only if the pattern is malformed
	}
	for _, directory := range directories {
		environ, err := os.ReadFile(filepath.Join(directory, "environ"))
		if err != nil {
			continue // the process has ended
		}
		container := variable(environ, "CONTAINER_ID")
		if !strings.Contains(container, "_"+number+"_") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(directory))
		if err != nil {
			continue
		}
		executable, err := os.Readlink(filepath.Join(directory, "exe"))
		if err != nil {
			continue
		}
		commandLine, err := os.ReadFile(filepath.Join(directory, "cmdline"))
		if err != nil {
			continue
		}
		found = append(found, process{
			pid: pid, container: container, role: launch.Role(variable(environ, launch.EnvRole)),
			executable: executable, environ: environ, commandLine: commandLine,
		})
	}
	return found
}

// processesInRole returns the processes that run the program in the given role. It excludes the
// shells that start them, which have the same environment variables.
func processesInRole(applicationID string, role launch.Role, program string) []process {
	var found []process
	for _, p := range processes(applicationID) {
		if p.role == role && filepath.Base(p.executable) == program {
			found = append(found, p)
		}
	}
	return found
}

func variable(environ []byte, name string) string {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}
