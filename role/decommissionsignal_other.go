//go:build unix && !linux

package role

import "syscall"

// decommissionSignal tells an executor to finish its running tasks and stop. It
// is SIGPWR on Linux, which other systems do not have.
const (
	decommissionSignal     = syscall.SIGUSR2
	decommissionSignalName = "SIGUSR2"
)
