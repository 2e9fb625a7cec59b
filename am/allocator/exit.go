package allocator

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// exitReason is why an executor ended, and how its end counts.
type exitReason struct {
	text        string // shown with the counts
	failure     bool   // counts towards executor.maxNumFailures
	nodeFailure bool   // counts towards the exclusion of its node
	wanted      bool   // ended by the driver or with the application: replacements are not delayed
}

// If YARN or the driver ended an executor, neither it nor its tasks have failed.
var (
	endedByDriver        = exitReason{text: "ended by the driver", wanted: true}
	decommissioned       = exitReason{text: "stopped before it was taken away", wanted: true}
	endedWithApplication = exitReason{text: "ended with the application", wanted: true}
	notNeeded            = exitReason{text: "not needed any more", wanted: true}
	onExcludedNode       = exitReason{text: "on an excluded node"}
	notLaunched          = exitReason{text: "not launched", failure: true, nodeFailure: true}
	invalidContainer     = exitReason{text: "container not valid any more"}
	tokenRefused         = exitReason{text: "container token refused"}
	notRegistered        = exitReason{text: "not registered in time", failure: true, nodeFailure: true}
	exited               = exitReason{text: "exited", failure: true, nodeFailure: true}
	notSetUp             = exitReason{text: "not set up by its node", failure: true, nodeFailure: true}
	outOfMemory          = exitReason{text: "beyond its memory", failure: true}
	outOfVirtualMemory   = exitReason{text: "beyond its virtual memory", failure: true}
	tooMuchLog           = exitReason{text: "too much written to its logs", failure: true}
)

// reasonByStatus has the reasons for exit statuses that YARN sets.
var reasonByStatus = map[yarn.ExitStatus]exitReason{
	yarn.ExitAborted:                    {text: "lost with its node"},
	yarn.ExitDisksFailed:                {text: "disks of its node failed"},
	yarn.ExitPreempted:                  {text: "preempted"},
	yarn.ExitKilledByResourceManager:    {text: "killed by the ResourceManager"},
	yarn.ExitKilledAfterApplication:     endedWithApplication,
	yarn.ExitKilledByContainerScheduler: {text: "killed for guaranteed containers"},
	yarn.ExitKilledByApplicationMaster:  {text: "stopped by the ApplicationMaster"},
}

// classifyExit returns the loss for the driver, and why a container that was not
// released ended.
func classifyExit(status yarn.ContainerStatus, p profile.Profile) (driver.Loss, exitReason) {
	cause := exitStatus(status)
	if reason, ok := reasonByStatus[cause]; ok {
		return driver.Loss{Reason: status.ExitStatus.Meaning()}, reason
	}
	switch cause {
	case yarn.ExitSuccess:
		// Executors that the driver asked to stop do not get here.
		return driver.Loss{Reason: "ended by itself with exit status 0: does a task call os.Exit?", CountsAsFailure: true}, exited
	case yarn.ExitExceededPhysicalMemory:
		return driver.Loss{
			Reason: fmt.Sprintf("was killed for its memory: %s; raise executor.memory (now %v) or executor.memoryOverhead (now %v)",
				usage(status.Diagnostics), p.Memory, p.Overhead),
			CountsAsFailure: true,
		}, outOfMemory
	case yarn.ExitExceededVirtualMemory:
		return driver.Loss{
			Reason: fmt.Sprintf("was killed for its virtual memory: %s; a Go program reserves more address space than it uses: "+
				"set yarn.nodemanager.vmem-check-enabled=false on the NodeManagers, or raise executor.memory (now %v)", usage(status.Diagnostics), p.Memory),
			CountsAsFailure: true,
		}, outOfVirtualMemory
	}
	text, reason := status.ExitStatus.Meaning(), exited
	switch cause {
	case yarn.ExitUnknown:
		// The node could not localize files or make a directory, so no process has run.
		text, reason = "could not be set up by its node", notSetUp
	case yarn.ExitKilledForExcessLogs:
		reason = tooMuchLog
	}
	if last := lastLine(status.Diagnostics); last != "" {
		text += ": " + last
	}
	return driver.Loss{Reason: text, CountsAsFailure: true}, reason
}

// exitStatus returns the container's exit status. YARN reports the process's own
// exit code if the process exits while it is killed for its memory; the diagnostics
// then imply the status.
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

// usage returns the sentence about memory usage in a container's diagnostics.
func usage(diagnostics string) string {
	for line := range strings.Lines(diagnostics) {
		if _, text, ok := strings.Cut(line, "Current usage: "); ok {
			text, _, _ = strings.Cut(text, ". Killing container")
			return strings.TrimSpace(text)
		}
	}
	return "it used more than its container has"
}

// lastLine returns the last line that is not blank.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
