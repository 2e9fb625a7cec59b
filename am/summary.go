package am

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/am/allocator"
)

// summary is the application in one line, for its diagnostics: the
// ResourceManager keeps them when the ApplicationMaster is gone.
func (m *applicationMaster) summary() string {
	totals, executors := m.driver.Endpoint.Status().Totals, m.allocator.Status()
	line := fmt.Sprintf("summary: task_sets=%d tasks=%d failed_attempts=%d process_local=%d node_local=%d no_pref=%d rack_local=%d any=%d executors=%d lost_executors=%d",
		totals.Jobs, totals.Done, totals.FailedAttempts, totals.Locality.ProcessLocal, totals.Locality.NodeLocal,
		totals.Locality.NoPref, totals.Locality.RackLocal, totals.Locality.Any, executors.Counts.Requested, totals.ExecutorsLost)
	if ended := endsInWords(executors.Failures); ended != "" {
		line += " ended=" + strconv.Quote(ended)
	}
	if excluded := hostsInWords(executors.Exclusions); excluded != "" {
		line += " excluded=" + strconv.Quote(excluded)
	}
	return line + fmt.Sprintf(" run=%.1fs", time.Since(m.began).Seconds())
}

// maxDiagnostics bounds the diagnostics that the ResourceManager is given. It
// truncates longer ones itself, at yarn.app.attempt.diagnostics.limit.kc (64 KiB).
const maxDiagnostics = 32 << 10

// mostNamed bounds the hosts that a summary names.
const mostNamed = 10

// endsInWords is "3 beyond its memory, 1 preempted", the most frequent first.
func endsInWords(failures []allocator.FailureCount) string {
	sorted := slices.Clone(failures)
	slices.SortStableFunc(sorted, func(a, b allocator.FailureCount) int { return b.Count - a.Count })
	words := make([]string, len(sorted))
	for i, failure := range sorted {
		words[i] = fmt.Sprintf("%d %s", failure.Count, failure.Reason)
	}
	return strings.Join(words, ", ")
}

func hostsInWords(exclusions []allocator.Exclusion) string {
	var hosts []string
	for _, exclusion := range exclusions[:min(len(exclusions), mostNamed)] {
		hosts = append(hosts, exclusion.Host)
	}
	if more := len(exclusions) - mostNamed; more > 0 {
		hosts = append(hosts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(hosts, ", ")
}

// failureDiagnostics is why an application failed, followed by its summary where executors
// have ended before: they may have to do with it. It stays within what the
// ResourceManager keeps.
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
