package allocator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
)

func TestMemoryKillsNameTheSettingsToRaise(t *testing.T) {
	diagnostics := "[2026-01-01 00:00:00.000]Container [pid=1,containerID=container_1] is running 512MB beyond the 'PHYSICAL' memory limit. " +
		"Current usage: 1.5 GB of 1 GB physical memory used; 2.0 GB of 2.1 GB virtual memory used. Killing container.\nDump of the process-tree"
	for _, exit := range []yarn.ExitStatus{yarn.ExitExceededPhysicalMemory, 143, 1} {
		loss, v := classifyExit(completion(1, exit, diagnostics)[0], small(0))
		require.True(t, v.countsAsFailure)
		require.False(t, v.countsAgainstNode, "no other node would help")
		require.Equal(t, "was killed for its memory: 1.5 GB of 1 GB physical memory used; 2.0 GB of 2.1 GB virtual memory used; "+
			"raise executor.memory (now 1g) or executor.memoryOverhead (now 0b)", loss.Reason)
	}
}

func TestClassifyExit(t *testing.T) {
	tests := []struct {
		exit    yarn.ExitStatus
		text    string
		reason  string
		failure bool
		node    bool
	}{
		{0, "os.Exit", "exited", true, true},
		{1, "exited with code 1: last words", "exited", true, true},
		{137, "ended by signal 9", "exited", true, true},
		{yarn.ExitUnknown, "could not be set up by its node: last words", "not set up by its node", true, true},
		{yarn.ExitExceededVirtualMemory, "vmem-check-enabled", "beyond its virtual memory", true, false},
		{yarn.ExitKilledForExcessLogs, "logs", "too much written to its logs", true, false},
		{yarn.ExitPreempted, "preempted", "preempted", false, false},
		{yarn.ExitAborted, "node was lost", "lost with its node", false, false},
		{yarn.ExitDisksFailed, "disks", "disks of its node failed", false, false},
		{yarn.ExitKilledByResourceManager, "ResourceManager", "killed by the ResourceManager", false, false},
		{yarn.ExitKilledByContainerScheduler, "guaranteed", "killed for guaranteed containers", false, false},
	}
	for _, test := range tests {
		loss, v := classifyExit(completion(1, test.exit, "first\nlast words\n")[0], small(0))
		require.Contains(t, loss.Reason, test.text)
		require.Equal(t, exitReason{text: test.reason, countsAsFailure: test.failure, countsAgainstNode: test.node}, v)
		require.Equal(t, test.failure, loss.CountsAsFailure)
	}
}
