package client

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// ExecutorCounts are the numbers of executors in each state.
type ExecutorCounts struct {
	Requested       int `json:"requested"`       // requested by the driver
	Pending         int `json:"pending"`         // requested from the ResourceManager and not allocated
	Launching       int `json:"launching"`       // allocated and not registered with the driver
	Running         int `json:"running"`         // registered with the driver
	Decommissioning int `json:"decommissioning"` // registered with the driver and being decommissioned
	Ending          int `json:"ending"`          // released and not ended
	Failed          int `json:"failed"`          // executors that count as failed for executor.maxNumFailures
	MaxFailures     int `json:"maxFailures"`     // value of executor.maxNumFailures
}

// FailureCount is the number of executors that ended for the same reason.
type FailureCount struct {
	Reason          string `json:"reason"`
	Count           int    `json:"count"`
	CountsAsFailure bool   `json:"counts"` // the reason counts as a failure for executor.maxNumFailures
	Last            string `json:"last"`   // message about the executor that ended last for this reason
}

// Exclusion is a host on which no executors are started.
type Exclusion struct {
	Host   string     `json:"host"`
	Reason string     `json:"reason"`
	Until  *time.Time `json:"until,omitempty"` // end of the exclusion; nil if it does not end
}

// Write prints the report as text.
func (r *Report) Write(w io.Writer) { r.writeText(w, time.Now()) }

func (r *Report) writeText(w io.Writer, now time.Time) {
	rows := []row{
		{"application", r.ApplicationID}, {"name", r.Name}, {"user", r.User}, {"queue", r.Queue}, {"state", r.State},
		{"status", r.finalStatus()}, {"tracking", r.TrackingURL},
	}
	if r.State == stateAccepted {
		_, why := waitReason(r.Diagnostics)
		rows = append(rows, row{"waiting", why})
	}
	if !r.Times.Submitted.IsZero() {
		rows = append(rows, row{"submitted", r.Times.Submitted.Format(time.DateTime)})
	}
	if !r.Times.Finished.IsZero() {
		rows = append(rows, row{"finished", r.Times.Finished.Format(time.DateTime)})
	}
	if r.Progress != nil {
		rows = append(rows, r.Progress.rows(now)...)
	}
	rows = append(rows, summaryRows(parseSummary(r.Diagnostics))...)
	if r.Message != "" {
		rows = append(rows, row{"message", r.Message})
	}
	for _, row := range rows {
		if row.text != "" {
			fmt.Fprintf(w, "%-11s  %s\n", row.label, row.text)
		}
	}
}

// finalStatus returns the final status; "" if the application has not ended.
func (r *Report) finalStatus() string {
	if r.FinalStatus == string(yarnrest.StatusUndefined) {
		return ""
	}
	return r.FinalStatus
}

// rows returns rows that describe the progress of a running application.
func (s *Progress) rows(now time.Time) []row {
	rows := []row{{"tasks", s.tasks()}, {"executors", s.Executors.text()}}
	if s.Executors.Failed > 0 {
		failed := fmt.Sprint(s.Executors.Failed)
		if s.Executors.MaxFailures > 0 {
			failed += fmt.Sprintf(" of %d that executor.maxNumFailures allows", s.Executors.MaxFailures)
		}
		rows = append(rows, row{"failures", failed})
	}
	rows = append(rows, list("ended", endLines(s.Failures))...)
	rows = append(rows, list("excluded", exclusionLines(s.Exclusions, now))...)
	rows = append(rows, list("slowest", slowLines(s.Slowest))...)
	return append(rows, list("notes", s.Notes)...)
}

// list returns a row for each line. Only the first row has the label.
func list(label string, lines []string) []row {
	var rows []row
	for _, line := range lines {
		rows = append(rows, row{label, line})
		label = ""
	}
	return rows
}

func (c ExecutorCounts) text() string {
	words := fmt.Sprintf("%d of %d running", c.Running, c.Requested)
	for _, state := range []struct {
		count int
		words string
	}{
		{c.Decommissioning, "of them decommissioning"}, {c.Launching, "starting"}, {c.Pending, "asked for"}, {c.Ending, "ending"},
	} {
		if state.count > 0 {
			words += fmt.Sprintf(", %d %s", state.count, state.words)
		}
	}
	return words
}

// slowLines returns one line for each task attempt.
func slowLines(slowest []driver.SlowTask) []string {
	lines := make([]string, len(slowest))
	for i, t := range slowest {
		lines[i] = describeSlowTask(t)
	}
	return lines
}

// endLines returns one line for each reason why executors have ended.
func endLines(failures []FailureCount) []string {
	cells := make([][]string, len(failures))
	for i, failure := range failures {
		last := failure.Last
		if failure.CountsAsFailure {
			last = "(failure) " + last
		}
		cells[i] = []string{fmt.Sprint(failure.Count), failure.Reason, strings.TrimSpace(last)}
	}
	return columns(cells)
}

func exclusionLines(exclusions []Exclusion, now time.Time) []string {
	cells := make([][]string, len(exclusions))
	for i, exclusion := range exclusions {
		reason := exclusion.Reason
		if exclusion.Until != nil {
			reason += fmt.Sprintf(" (for %v more)", max(0, exclusion.Until.Sub(now)).Round(time.Second))
		}
		cells[i] = []string{exclusion.Host, reason}
	}
	return columns(cells)
}

// maxCell is the maximum number of characters in a table cell. The flag --json prints the whole
// text.
const maxCell = 160

// columns pads cells so that they form columns. It right-aligns numbers in the first column.
func columns(cells [][]string) []string {
	var widths []int
	for _, line := range cells {
		for i := range line {
			line[i] = oneLine(line[i])
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(line[i]))
		}
	}
	lines := make([]string, len(cells))
	for at, line := range cells {
		var b strings.Builder
		for i, cell := range line {
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == 0 && strings.Trim(cell, "0123456789") == "":
				b.WriteString(padding + cell + columnGap)
			case i == len(line)-1:
				b.WriteString(cell)
			default:
				b.WriteString(cell + padding + columnGap)
			}
		}
		lines[at] = b.String()
	}
	return lines
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= maxCell {
		return text
	}
	return string([]rune(text)[:maxCell-1]) + "…"
}
