package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// Screen is where a watched application is shown.
type Screen struct {
	Out io.Writer
	// Size gives a terminal's columns and rows; nil where Out is none, and gets
	// a line at each look.
	Size func() (columns, rows int)
	// Paint colours a word that is a state; nil for no colour.
	Paint func(state string) string
}

// What a terminal is told (ECMA-48; the alternate screen is xterm's).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// Watch shows where an application stands, again and again, until it has ended
// or ctx has: on a terminal on the whole screen, elsewhere in a line each time.
// look asks for the report. At the end the last report is printed. That the
// application did not succeed is no error.
func Watch(ctx context.Context, screen Screen, interval time.Duration, look func(ctx context.Context) (*Report, error)) error {
	if screen.Size != nil {
		fmt.Fprint(screen.Out, enterScreen)
	}
	last, err := screen.watch(ctx, interval, look)
	if screen.Size != nil {
		fmt.Fprint(screen.Out, leaveScreen)
	}
	if last != nil && (screen.Size != nil || err == nil) {
		last.Write(screen.Out)
	}
	return err
}

func (s Screen) watch(ctx context.Context, interval time.Duration, look func(ctx context.Context) (*Report, error)) (last *Report, err error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		report, err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return last, Failed(context.Cause(ctx))
		case err != nil && last == nil:
			return nil, err
		case err != nil:
			// The cluster may be away for a moment.
			s.say(fmt.Sprintf("%s  %v", time.Now().Format(time.TimeOnly), err), last)
		default:
			last = report
			s.say("", report)
			if report.over() {
				return report, nil
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return last, Failed(context.Cause(ctx))
		}
	}
}

// over tells whether the application has ended.
func (r *Report) over() bool {
	return r.State == stateFinished || r.State == stateFailed || r.State == stateKilled
}

// say shows a report, and what hinders a newer one.
func (s Screen) say(trouble string, report *Report) {
	now := time.Now()
	if s.Size == nil {
		line := trouble
		if line == "" {
			line = now.Format(time.TimeOnly) + "  " + report.line(now)
		}
		fmt.Fprintln(s.Out, line)
		return
	}
	columns, rows := s.Size()
	var page bytes.Buffer
	page.WriteString(toTop)
	for i, line := range report.page(now, trouble) {
		if i == rows-1 {
			break
		}
		line = cutTo(line, columns)
		if i == 0 { // where the state is
			line = s.painted(line)
		}
		page.WriteString(line + clearLine + "\r\n")
	}
	page.WriteString(clearBelow)
	_, _ = s.Out.Write(page.Bytes()) // a terminal that is gone ends the process by a signal
}

func cutTo(line string, columns int) string {
	if columns <= 0 || utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns])
}

// painted colours the state in a line.
func (s Screen) painted(line string) string {
	if s.Paint == nil {
		return line
	}
	for word := range strings.FieldsSeq(line) {
		if painted := s.Paint(word); painted != word {
			return strings.Replace(line, word, painted, 1)
		}
	}
	return line
}

// line is a report in one line.
func (r *Report) line(now time.Time) string {
	words := r.State
	if r.over() {
		words += "  " + r.FinalStatus
	}
	if elapsed := r.elapsed(now); elapsed > 0 {
		words += gap + Seconds(elapsed)
	}
	if p := r.Progress; p != nil {
		words += gap + p.executors() + gap + p.tasks()
	}
	return words
}

// elapsed is the time since the submission, up to the end.
func (r *Report) elapsed(now time.Time) time.Duration {
	if r.Times.Submitted.IsZero() {
		return 0
	}
	if !r.Times.Finished.IsZero() {
		now = r.Times.Finished
	}
	return now.Sub(r.Times.Submitted)
}

// page is a report for a whole screen: a head, the task sets, the executors.
func (r *Report) page(now time.Time, trouble string) []string {
	lines := []string{
		fmt.Sprintf("%s  %s  %s  %s", now.Format(time.TimeOnly), r.ApplicationID, r.Name, r.line(now)),
		fmt.Sprintf("user %s, queue %s  %s", r.User, r.Queue, r.TrackingURL),
	}
	if trouble != "" {
		lines = append(lines, trouble)
	}
	p := r.Progress
	if p == nil {
		if reason := shortened(withoutSummary(r.Diagnostics)); reason != "" {
			lines = append(lines, reason)
		}
		return lines
	}
	lines = append(lines, "executors "+p.Executors.words())
	lines = append(lines, p.Notes...)
	if len(p.TaskSets) > 0 {
		lines = append(lines, "")
		lines = append(lines, setLines(p.TaskSets)...)
	}
	if len(p.Details) > 0 {
		lines = append(lines, "")
		lines = append(lines, executorLines(p.Details)...)
	}
	if len(p.Failures) > 0 {
		lines = append(lines, "", "ENDED")
		lines = append(lines, endLines(p.Failures)...)
	}
	return lines
}

// barWidth is that of a task set's bar.
const barWidth = 30

// setLines are the task sets, the newest first: those that are worked on.
func setLines(sets []TaskSet) []string {
	cells := [][]string{{"TASK SET", "STATE", "", "DONE", "RUNNING", "FAILED"}}
	for i := len(sets) - 1; i >= 0; i-- {
		set := sets[i]
		cells = append(cells, []string{
			set.Name, set.State, strings.ReplaceAll(bar(set.Done, set.Total, barWidth), " ", "."), fmt.Sprintf("%d/%d", set.Done, set.Total),
			fmt.Sprint(set.Running), fmt.Sprint(set.Failed),
		})
	}
	return columns(cells)
}

// executorLines are the executors that there are, then those that are lost.
func executorLines(details []ExecutorDetail) []string {
	cells := [][]string{{"EXECUTOR", "HOST", "STATE", "CORES", "RUNNING", "DONE", "FAILED", "MEMORY"}}
	for _, lost := range []bool{false, true} {
		for _, e := range details {
			if (e.State == "lost") != lost {
				continue
			}
			memory := ""
			if e.ResidentBytes > 0 {
				memory = bytesText(int64(e.ResidentBytes))
			}
			cells = append(cells, []string{
				e.ID, e.Host, e.State, fmt.Sprint(e.Cores), fmt.Sprint(e.Running), fmt.Sprint(e.Done), fmt.Sprint(e.Failed), memory,
			})
		}
	}
	return columns(cells)
}
