package role

import "syscall"

// decommissionSignal makes an executor finish its running tasks and stop, as in Spark.
const (
	decommissionSignal     = syscall.SIGPWR
	decommissionSignalName = "SIGPWR"
)
