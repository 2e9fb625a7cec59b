package role

import "syscall"

// decommissionSignal tells an executor to finish its running tasks and stop.
// Spark's executors use the same signal.
const (
	decommissionSignal     = syscall.SIGPWR
	decommissionSignalName = "SIGPWR"
)
