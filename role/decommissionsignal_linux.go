package role

import "syscall"

// On decommissionSignal, an executor finishes its running tasks and then exits. Spark uses the same
// signal.
const (
	decommissionSignal     = syscall.SIGPWR
	decommissionSignalName = "SIGPWR"
)
