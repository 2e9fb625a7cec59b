package allocator

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// exitReason is the reason why an executor ended, and determines how its end counts.
type exitReason struct {
	text              string // the reason in words, by which ended executors are counted
	countsAsFailure   bool   // counts as a failure for executor.maxNumFailures
	countsAgainstNode bool   // counts as a failure for the exclusion of the host
	expected          bool   // the driver stopped the executor or the application ended, so a replacement is not delayed
}

// Reasons that are not in reasonByStatus. An executor that YARN or the driver ended has not failed.
var (
	reasonEndedByDriver        = exitReason{text: "ended by the driver", expected: true}
	reasonDecommissioned       = exitReason{text: "stopped before it was taken away", expected: true}
	reasonEndedWithApplication = exitReason{text: "ended with the application", expected: true}
	reasonNotNeeded            = exitReason{text: "not needed any more", expected: true}
	reasonOnExcludedNode       = exitReason{text: "on an excluded node"}
	reasonNotLaunched          = exitReason{text: "not launched", countsAsFailure: true, countsAgainstNode: true}
	reasonInvalidContainer     = exitReason{text: "container not valid any more"}
	reasonTokenRefused         = exitReason{text: "container token refused"}
	reasonNotRegistered        = exitReason{text: "not registered in time", countsAsFailure: true, countsAgainstNode: true}
	reasonExited               = exitReason{text: "exited", countsAsFailure: true, countsAgainstNode: true}
	reasonNotSetUp             = exitReason{text: "not set up by its node", countsAsFailure: true, countsAgainstNode: true}
	reasonOutOfMemory          = exitReason{text: "beyond its memory", countsAsFailure: true}
	reasonOutOfVirtualMemory   = exitReason{text: "beyond its virtual memory", countsAsFailure: true}
	reasonTooMuchLog           = exitReason{text: "too much written to its logs", countsAsFailure: true}
)

// reasonByStatus contains the reasons for exit statuses that YARN sets.
var reasonByStatus = map[yarn.ExitStatus]exitReason{
	yarn.ExitAborted:                    {text: "lost with its node"},
	yarn.ExitDisksFailed:                {text: "disks of its node failed"},
	yarn.ExitPreempted:                  {text: "preempted"},
	yarn.ExitKilledByResourceManager:    {text: "killed by the ResourceManager"},
	yarn.ExitKilledAfterApplication:     reasonEndedWithApplication,
	yarn.ExitKilledByContainerScheduler: {text: "killed for guaranteed containers"},
	yarn.ExitKilledByApplicationMaster:  {text: "stopped by the ApplicationMaster"},
}

// classifyExit determines why a container that was not released has ended. It returns the loss to
// report to the driver, and the reason to count.
func classifyExit(status yarn.ContainerStatus, p profile.Profile) (driver.Loss, exitReason) {
	cause := exitStatus(status)
	if reason, ok := reasonByStatus[cause]; ok {
		return driver.Loss{Reason: status.ExitStatus.Meaning()}, reason
	}
	switch cause {
	case yarn.ExitSuccess:
		// Executors that the driver stops are handled before this function is called.
		return driver.Loss{Reason: "ended by itself with exit status 0: does a task call os.Exit?", CountsAsFailure: true}, reasonExited
	case yarn.ExitExceededPhysicalMemory:
		return driver.Loss{
			Reason: fmt.Sprintf("was killed for its memory: %s; raise executor.memory (now %v) or executor.memoryOverhead (now %v)",
				memoryUsage(status.Diagnostics), p.Memory, p.Overhead),
			CountsAsFailure: true,
		}, reasonOutOfMemory
	case yarn.ExitExceededVirtualMemory:
		return driver.Loss{
			Reason: fmt.Sprintf("was killed for its virtual memory: %s; a Go program reserves more address space than it uses: "+
				"set yarn.nodemanager.vmem-check-enabled=false on the NodeManagers, or raise executor.memory (now %v)", memoryUsage(status.Diagnostics), p.Memory),
			CountsAsFailure: true,
		}, reasonOutOfVirtualMemory
	}
	text, reason := status.ExitStatus.Meaning(), reasonExited
	switch cause {
	case yarn.ExitUnknown:
		// The node could not localize files or create a directory, so the process was not started.
		text, reason = "could not be set up by its node", reasonNotSetUp
	case yarn.ExitKilledForExcessLogs:
		reason = reasonTooMuchLog
	}
	if last := lastLine(status.Diagnostics); last != "" {
		text += ": " + last
	}
	return driver.Loss{Reason: text, CountsAsFailure: true}, reason
}

// exitStatus returns the exit status of a container. If a process exits while YARN kills it for its
// memory usage, YARN reports the exit code of the process. In this case exitStatus derives the
// status from the diagnostics.
func exitStatus(status yarn.ContainerStatus) yarn.ExitStatus {
	switch {
	case status.ExitStatus <= 0:
		return status.ExitStatus
	case strings.Contains(status.Diagnostics, "beyond the 'PHYSICAL' memory limit"):
		return yarn.ExitExceededPhysicalMemory
	case strings.Contains(status.Diagnostics, "beyond the 'VIRTUAL' memory limit"):
		return yarn.ExitExceededVirtualMemory
	}
	return status.ExitStatus
}

// memoryUsage returns the sentence about memory usage in the diagnostics of a container.
func memoryUsage(diagnostics string) string {
	for line := range strings.Lines(diagnostics) {
		if _, text, ok := strings.Cut(line, "Current usage: "); ok {
			text, _, _ = strings.Cut(text, ". Killing container")
			return strings.TrimSpace(text)
		}
	}
	return "it used more than its container has"
}

// lastLine returns the last line of text that is not blank.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
