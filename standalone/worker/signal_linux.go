package worker

import (
	"os"
	"syscall"
)

var decommissionSignal os.Signal = syscall.SIGPWR
