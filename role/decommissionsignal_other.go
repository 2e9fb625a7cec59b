//go:build unix && !linux

package role

import "syscall"

// decommissionSignal makes an executor finish its running tasks and stop; Linux has SIGPWR.
const (
	decommissionSignal     = syscall.SIGUSR2
	decommissionSignalName = "SIGUSR2"
)
