//go:build unix && !linux

package role

import "syscall"

// On decommissionSignal, an executor finishes its running tasks and then exits. The signal on Linux
// is SIGPWR, which other systems do not have.
const (
	decommissionSignal     = syscall.SIGUSR2
	decommissionSignalName = "SIGUSR2"
)
