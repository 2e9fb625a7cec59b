package role

import "syscall"

// decommissionSignal asks an executor to finish its tasks and stop. It is that of
// Spark's executors.
const (
	decommissionSignal     = syscall.SIGPWR
	decommissionSignalName = "SIGPWR"
)
