package bobbin

import "syscall"

// decommissionSignal asks an executor to finish what it runs and leave. It is
// the one that Spark's executors take.
const (
	decommissionSignal     = syscall.SIGPWR
	decommissionSignalName = "SIGPWR"
)
