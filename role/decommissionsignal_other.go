//go:build unix && !linux

package role

import "syscall"

// decommissionSignal asks an executor to finish its tasks and stop. Only Linux has
// SIGPWR.
const (
	decommissionSignal     = syscall.SIGUSR2
	decommissionSignalName = "SIGUSR2"
)
