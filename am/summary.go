package am

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/am/allocator"
	"github.com/bobbin-yarn/bobbin/driver"
)

// summary returns a line for the diagnostics with the numbers of tasks and executors.
func (m *applicationMaster) summary() string {
	totals, executors := m.driver.Endpoint.Status().Totals, m.allocator.Status()
	line := fmt.Sprintf("summary: %s executors=%d lost_executors=%d", totals.KeyValues(), executors.Counts.Requested, totals.ExecutorsLost)
	if ended := formatFailures(executors.Failures); ended != "" {
		line += " ended=" + strconv.Quote(ended)
	}
	if excluded := formatHosts(executors.Exclusions); excluded != "" {
		line += " excluded=" + strconv.Quote(excluded)
	}
	return line + driver.CostsKeyValue(m.driver.Costs()) + fmt.Sprintf(" run=%.1fs", time.Since(m.began).Seconds())
}

// maxDiagnostics is the maximum size in bytes of the diagnostics of a failure. It is less than the
// ResourceManager's limit yarn.app.attempt.diagnostics.limit.kc, which is 64 KiB by default.
const maxDiagnostics = 32 << 10

// maxSummaryHosts is the maximum number of excluded hosts in a summary.
const maxSummaryHosts = 10

// formatFailures returns the number of ended executors for each reason as text, such as "3 beyond
// its memory, 1 preempted".
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

// failureDiagnostics returns the reason why the application failed. If executors have ended, it
// appends the summary. It truncates the result to about maxDiagnostics bytes.
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
