package am

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/am/allocator"
)

// summary returns one line about the application, for the diagnostics that the
// ResourceManager keeps.
func (m *applicationMaster) summary() string {
	totals, executors := m.driver.Endpoint.Status().Totals, m.allocator.Status()
	line := fmt.Sprintf("summary: task_sets=%d tasks=%d failed_attempts=%d process_local=%d node_local=%d no_pref=%d rack_local=%d any=%d executors=%d lost_executors=%d",
		totals.Jobs, totals.Done, totals.FailedAttempts, totals.Locality.ProcessLocal, totals.Locality.NodeLocal,
		totals.Locality.NoPref, totals.Locality.RackLocal, totals.Locality.Any, executors.Counts.Requested, totals.ExecutorsLost)
	if ended := formatFailures(executors.Failures); ended != "" {
		line += " ended=" + strconv.Quote(ended)
	}
	if excluded := formatHosts(executors.Exclusions); excluded != "" {
		line += " excluded=" + strconv.Quote(excluded)
	}
	return line + fmt.Sprintf(" run=%.1fs", time.Since(m.began).Seconds())
}

// maxDiagnostics bounds the diagnostics for the ResourceManager. It
// truncates longer ones itself, at yarn.app.attempt.diagnostics.limit.kc (64 KiB).
const maxDiagnostics = 32 << 10

// maxSummaryHosts bounds the excluded hosts in a summary.
const maxSummaryHosts = 10

// formatFailures returns "3 beyond its memory, 1 preempted", the most frequent first.
func formatFailures(failures []allocator.FailureCount) string {
	sorted := slices.Clone(failures)
	slices.SortStableFunc(sorted, func(a, b allocator.FailureCount) int { return b.Count - a.Count })
	words := make([]string, len(sorted))
	for i, failure := range sorted {
		words[i] = fmt.Sprintf("%d %s", failure.Count, failure.Reason)
	}
	return strings.Join(words, ", ")
}

func formatHosts(exclusions []allocator.Exclusion) string {
	var hosts []string
	for _, exclusion := range exclusions[:min(len(exclusions), maxSummaryHosts)] {
		hosts = append(hosts, exclusion.Host)
	}
	if more := len(exclusions) - maxSummaryHosts; more > 0 {
		hosts = append(hosts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(hosts, ", ")
}

// failureDiagnostics returns the reason of a failure and, if executors have ended, the
// summary, since they may be the cause. It truncates the reason to maxDiagnostics.
func failureDiagnostics(reason, summary string) string {
	if !strings.Contains(summary, " ended=") {
		summary = ""
	} else {
		summary = "\n" + summary
	}
	if room := maxDiagnostics - len(summary); len(reason) > room {
		reason = strings.ToValidUTF8(reason[:room], "") + "\n…"
	}
	return reason + summary
}
