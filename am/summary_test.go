package am

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/am/allocator"
)

func TestWhatASummarySaysOfExecutors(t *testing.T) {
	require.Equal(t, "5 out of memory, 2 preempted, 1 exit code", endsInWords([]allocator.FailureCount{
		{Reason: "exit code", Count: 1}, {Reason: "out of memory", Count: 5}, {Reason: "preempted", Count: 2},
	}))
	require.Empty(t, endsInWords(nil))
	require.Equal(t, "a, b", hostsInWords([]allocator.Exclusion{{Host: "a"}, {Host: "b"}}))
	require.Empty(t, hostsInWords(nil))
	many := make([]allocator.Exclusion, mostNamed+3)
	require.True(t, strings.HasSuffix(hostsInWords(many), ", 3 more"))
}

func TestLastWordsKeepTheSummary(t *testing.T) {
	const summary = `summary: x=1 ended="1 preempted"`
	require.Equal(t, "why\n"+summary, failureDiagnostics("why", summary))
	require.Equal(t, "why", failureDiagnostics("why", "summary: x=1"), "the text alone where no executor has ended")
	long := failureDiagnostics(strings.Repeat("ü", maxDiagnostics), summary)
	require.True(t, strings.HasSuffix(long, "\n…\n"+summary))
	require.True(t, utf8.ValidString(long))
	require.LessOrEqual(t, len(long), maxDiagnostics+8)
}
