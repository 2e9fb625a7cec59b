package am

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

// judge says why an executor's container ended, and whether that counts
// towards executor.maxNumFailures. What the cluster did to it does not, and its
// tasks are not to blame either.
func judge(status yarn.ContainerStatus, killed bool, memory string) (loss driver.Loss, failed bool) {
	if killed {
		return driver.Loss{Text: "was ended by the driver"}, false
	}
	switch reason(status) {
	case yarn.ExitSuccess:
		// The driver has not told it to: then nobody would ask.
		return driver.Loss{Text: "ended by itself with exit status 0: does a task call os.Exit?", CountsAsFailure: true}, true
	case yarn.ExitExceededPhysicalMemory:
		return driver.Loss{
			Text:            fmt.Sprintf("was killed for its memory: %s; raise executor.memory (now %s) or executor.memoryOverhead", usage(status.Diagnostics), memory),
			CountsAsFailure: true,
		}, true
	case yarn.ExitExceededVirtualMemory:
		return driver.Loss{
			Text: fmt.Sprintf("was killed for its virtual memory: %s; a Go program reserves more address space than it uses: "+
				"set yarn.nodemanager.vmem-check-enabled=false on the NodeManagers, or raise executor.memory (now %s)", usage(status.Diagnostics), memory),
			CountsAsFailure: true,
		}, true
	case yarn.ExitAborted, yarn.ExitDisksFailed, yarn.ExitPreempted, yarn.ExitKilledByResourceManager,
		yarn.ExitKilledAfterApplication, yarn.ExitKilledByContainerScheduler, yarn.ExitKilledByApplicationMaster:
		return driver.Loss{Text: status.ExitStatus.Meaning()}, false
	}
	text := status.ExitStatus.Meaning()
	if last := lastLine(status.Diagnostics); last != "" {
		text += ": " + last
	}
	return driver.Loss{Text: text, CountsAsFailure: true}, true
}

// reason is the exit status, or what a NodeManager says it did where a process
// ended with a code of its own while it was being killed: the code then stands
// in place of the reason.
func reason(status yarn.ContainerStatus) yarn.ExitStatus {
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

// usage finds the sentence with the numbers in a NodeManager's words about a
// memory kill, or returns the exit status's meaning in its place.
func usage(diagnostics string) string {
	for line := range strings.Lines(diagnostics) {
		if _, said, ok := strings.Cut(line, "Current usage: "); ok {
			said, _, _ = strings.Cut(said, ". Killing container")
			return strings.TrimSpace(said)
		}
	}
	return "it used more than its container has"
}

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
