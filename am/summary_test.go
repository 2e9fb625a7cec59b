package am

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/allocator"
)

func TestSummaryFormats(t *testing.T) {
	require.Equal(t, "5 out of memory, 2 preempted, 1 exit code", formatFailures([]allocator.FailureCount{
		{Reason: "exit code", Count: 1}, {Reason: "out of memory", Count: 5}, {Reason: "preempted", Count: 2},
	}))
	require.Empty(t, formatFailures(nil))
	require.Equal(t, "a, b", formatHosts([]allocator.Exclusion{{Host: "a"}, {Host: "b"}}))
	require.Empty(t, formatHosts(nil))
	many := make([]allocator.Exclusion, maxSummaryHosts+3)
	require.True(t, strings.HasSuffix(formatHosts(many), ", 3 more"))
}

func TestFailureDiagnosticsKeepTheSummary(t *testing.T) {
	const summary = `summary: x=1 ended="1 preempted"`
	require.Equal(t, "why\n"+summary, failureDiagnostics("why", summary))
	require.Equal(t, "why", failureDiagnostics("why", "summary: x=1"), "the text alone if no executor has ended")
	long := failureDiagnostics(strings.Repeat("ü", maxDiagnostics), summary)
	require.True(t, strings.HasSuffix(long, "\n…\n"+summary))
	require.True(t, utf8.ValidString(long))
	require.LessOrEqual(t, len(long), maxDiagnostics+8)
}
