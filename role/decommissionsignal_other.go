//go:build unix && !linux

package role

import "syscall"

// decommissionSignal makes an executor finish its running tasks and stop. It differs from
// the signal on Linux, SIGPWR, which other systems do not have.
const (
	decommissionSignal     = syscall.SIGUSR2
	decommissionSignalName = "SIGUSR2"
)
