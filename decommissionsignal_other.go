//go:build unix && !linux

package bobbin

import "syscall"

// decommissionSignal asks an executor to finish what it runs and leave. Systems
// other than Linux have no SIGPWR; executors in containers are on Linux, so this
// is for those of a worker on such a machine.
const (
	decommissionSignal     = syscall.SIGUSR2
	decommissionSignalName = "SIGUSR2"
)
