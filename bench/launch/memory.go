package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/procfs"
)

// residentMemory returns the resident memory of an application's ApplicationMaster and
// executors on this machine, in units of 1,000,000 bytes. It recognizes the processes by their
// environment variables. The shells in which NodeManagers start the programs have been replaced
// by the programs (exec), so they do not count.
func residentMemory(applicationID string) (float64, error) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	// Container ids are container_<cluster>_<application>_<attempt>_<container>.
	container := []byte("CONTAINER_ID=container_" + strings.TrimPrefix(applicationID, "application_") + "_")
	total, found := uint64(0), 0
	for _, process := range processes {
		environment, err := os.ReadFile(filepath.Join(process, "environ"))
		if err != nil || !bytes.Contains(environment, container) || !bytes.Contains(environment, []byte(launch.EnvRole+"=")) {
			continue // the process belongs to another user or application, or has ended
		}
		program, err := os.Readlink(filepath.Join(process, "exe"))
		if err != nil || filepath.Base(program) == "bash" || filepath.Base(program) == "dash" {
			continue
		}
		resident, err := procfs.ResidentBytes(process)
		if err != nil {
			return 0, err
		}
		total += resident
		found++
	}
	if found != 1+executors {
		return 0, fmt.Errorf("found %d processes of %s, want the AM and %d executors", found, applicationID, executors)
	}
	return float64(total) / 1e6, nil
}
