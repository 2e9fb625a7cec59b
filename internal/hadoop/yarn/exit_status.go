package yarn

import (
	"fmt"
	"syscall"
)

// ExitStatus is the exit code of a container's process, or a negative value that YARN sets
// (ContainerExitStatus).
type ExitStatus int32

// The exit statuses that YARN sets.
const (
	ExitSuccess                    ExitStatus = 0
	ExitAborted                    ExitStatus = -100
	ExitDisksFailed                ExitStatus = -101
	ExitPreempted                  ExitStatus = -102
	ExitExceededVirtualMemory      ExitStatus = -103
	ExitExceededPhysicalMemory     ExitStatus = -104
	ExitKilledByApplicationMaster  ExitStatus = -105
	ExitKilledByResourceManager    ExitStatus = -106
	ExitKilledAfterApplication     ExitStatus = -107
	ExitKilledByContainerScheduler ExitStatus = -108
	ExitKilledForExcessLogs        ExitStatus = -109
	ExitUnknown                    ExitStatus = -1000 // the container has not ended
)

// signalBase plus a signal's number is the exit code that a shell reports for a command that
// the signal ended.
const signalBase = 128

// Meaning describes the status in words.
func (s ExitStatus) Meaning() string {
	switch s {
	case ExitSuccess:
		return "success"
	case ExitAborted:
		return "aborted: released by the application, or its node was lost"
	case ExitDisksFailed:
		return "the node's disks failed"
	case ExitPreempted:
		return "preempted by the scheduler"
	case ExitExceededVirtualMemory:
		return "killed for exceeding its virtual memory"
	case ExitExceededPhysicalMemory:
		return "killed for exceeding its physical memory"
	case ExitKilledByApplicationMaster:
		return "stopped by the ApplicationMaster"
	case ExitKilledByResourceManager:
		return "killed by the ResourceManager"
	case ExitKilledAfterApplication:
		return "killed as its application had ended"
	case ExitKilledByContainerScheduler:
		return "killed by the node's container scheduler in favour of guaranteed containers"
	case ExitKilledForExcessLogs:
		return "killed for writing too much to its logs"
	case ExitUnknown:
		return "not ended"
	}
	switch signal := s - signalBase; {
	case signal > 0 && signal <= 64:
		return fmt.Sprintf("ended by signal %d (%v)", signal, syscall.Signal(signal))
	case s > 0:
		return fmt.Sprintf("exited with code %d", int32(s))
	default:
		return "a status that YARN does not document"
	}
}

// String returns the number and its meaning, such as "-104 (killed for exceeding its
// physical memory)".
func (s ExitStatus) String() string { return fmt.Sprintf("%d (%s)", int32(s), s.Meaning()) }
