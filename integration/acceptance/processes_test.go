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

// process is a process of an application's container on this machine.
type process struct {
	pid         int
	container   string
	role        launch.Role
	executable  string
	environ     []byte
	commandLine []byte
}

// root returns the root directory of the process.
func (p process) root() string { return fmt.Sprintf("/proc/%d/root", p.pid) }

// processes finds the processes of an application's containers by a NodeManager's variables.
func processes(applicationID string) []process {
	_, number, _ := strings.Cut(applicationID, "_") // container_<number>_01_000001
	var found []process
	directories, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		panic(err) // the pattern is malformed
	}
	for _, directory := range directories {
		environ, err := os.ReadFile(filepath.Join(directory, "environ"))
		if err != nil {
			continue // it has ended
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

// processesInRole finds the processes of the application's program in a role, without the
// shells that start them, which have the same environment.
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
