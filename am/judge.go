package am

import (
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

// verdict says who is to blame for an executor's end.
type verdict struct {
	reason  string // in two words, for the counts
	failure bool   // it counts towards executor.maxNumFailures
	node    bool   // it counts against its node
	wished  bool   // by the driver or at the end: no other is wanted in its place
}

// Verdicts. What the cluster does to an executor is no failure, and its tasks
// are not to blame either.
var (
	endedByDriver   = verdict{reason: "ended by the driver", wished: true}
	leftInTime      = verdict{reason: "left before it was taken away", wished: true}
	withApplication = verdict{reason: "ended with the application", wished: true}
	notNeeded       = verdict{reason: "not needed any more", wished: true}
	onExcludedNode  = verdict{reason: "on an excluded node"}
	notLaunched     = verdict{reason: "not launched", failure: true, node: true}
	notTaken        = verdict{reason: "container not valid any more"}
	tokenRefused    = verdict{reason: "container token refused"}
	notRegistered   = verdict{reason: "not registered in time", failure: true, node: true}
	exited          = verdict{reason: "exited", failure: true, node: true}
	notSetUp        = verdict{reason: "not set up by its node", failure: true, node: true}
	outOfMemory     = verdict{reason: "beyond its memory", failure: true}
	outOfAddresses  = verdict{reason: "beyond its virtual memory", failure: true}
	tooMuchLog      = verdict{reason: "too much written to its logs", failure: true}
)

// byCluster are the exit statuses of containers that the cluster has ended.
var byCluster = map[yarn.ExitStatus]verdict{
	yarn.ExitAborted:                    {reason: "lost with its node"},
	yarn.ExitDisksFailed:                {reason: "disks of its node failed"},
	yarn.ExitPreempted:                  {reason: "preempted"},
	yarn.ExitKilledByResourceManager:    {reason: "killed by the ResourceManager"},
	yarn.ExitKilledAfterApplication:     withApplication,
	yarn.ExitKilledByContainerScheduler: {reason: "killed for guaranteed containers"},
	yarn.ExitKilledByApplicationMaster:  {reason: "stopped by the ApplicationMaster"},
}

// judge says why an executor's container ended, where nobody had wanted it to.
func judge(status yarn.ContainerStatus, of profile.Profile) (driver.Loss, verdict) {
	cause := reason(status)
	if v, ok := byCluster[cause]; ok {
		return driver.Loss{Text: status.ExitStatus.Meaning()}, v
	}
	switch cause {
	case yarn.ExitSuccess:
		// The driver has not told it to: then nobody would ask.
		return driver.Loss{Text: "ended by itself with exit status 0: does a task call os.Exit?", CountsAsFailure: true}, exited
	case yarn.ExitExceededPhysicalMemory:
		return driver.Loss{
			Text: fmt.Sprintf("was killed for its memory: %s; raise executor.memory (now %v) or executor.memoryOverhead (now %v)",
				usage(status.Diagnostics), of.Memory, of.Overhead),
			CountsAsFailure: true,
		}, outOfMemory
	case yarn.ExitExceededVirtualMemory:
		return driver.Loss{
			Text: fmt.Sprintf("was killed for its virtual memory: %s; a Go program reserves more address space than it uses: "+
				"set yarn.nodemanager.vmem-check-enabled=false on the NodeManagers, or raise executor.memory (now %v)", usage(status.Diagnostics), of.Memory),
			CountsAsFailure: true,
		}, outOfAddresses
	}
	text, v := status.ExitStatus.Meaning(), exited
	switch cause {
	case yarn.ExitUnknown:
		// A container whose files could not be brought to its node, or which got no
		// directory there, is complete without a process of its ever having ended.
		text, v = "could not be set up by its node", notSetUp
	case yarn.ExitKilledForExcessLogs:
		v = tooMuchLog
	}
	if last := lastLine(status.Diagnostics); last != "" {
		text += ": " + last
	}
	return driver.Loss{Text: text, CountsAsFailure: true}, v
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
