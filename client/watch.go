package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Screen is the output of [Watch].
type Screen struct {
	Out io.Writer
	// Size returns the terminal's columns and rows. If Size is nil, Watch prints each report as one
	// line.
	Size func() (columns, rows int)
	// Paint returns the name of a state in colour. nil means no colours.
	Paint func(state string) string
}

// Terminal control sequences (ECMA-48; the alternate screen is xterm's).
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	toTop       = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// Watch fetches and shows an application's report at each interval until the application or ctx has
// ended. On a terminal, each report fills the screen; otherwise it is one line. In the end, Watch
// prints the last report in full, unless the output is no terminal and ctx has ended. Watch returns an
// error if ctx ends or the first fetch fails, but not if the application has failed.
func Watch(ctx context.Context, screen Screen, interval time.Duration, fetch func(ctx context.Context) (*Report, error)) error {
	if screen.Size != nil {
		fmt.Fprint(screen.Out, enterScreen)
	}
	last, err := screen.watch(ctx, interval, fetch)
	if screen.Size != nil {
		fmt.Fprint(screen.Out, leaveScreen)
	}
	if last != nil && (screen.Size != nil || err == nil) {
		last.Write(screen.Out)
	}
	return err
}

func (s Screen) watch(ctx context.Context, interval time.Duration, fetch func(ctx context.Context) (*Report, error)) (last *Report, err error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		report, err := fetch(ctx)
		switch {
		case ctx.Err() != nil:
			return last, FailedError(context.Cause(ctx))
		case err != nil && last == nil:
			return nil, err
		case err != nil:
			// Continue, because the cluster may be unavailable only for a short time.
			s.show(fmt.Sprintf("%s  %v", time.Now().Format(time.TimeOnly), err), last)
		default:
			last = report
			s.show("", report)
			if report.hasEnded() {
				return report, nil
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return last, FailedError(context.Cause(ctx))
		}
	}
}

func (r *Report) hasEnded() bool {
	return r.State == stateFinished || r.State == stateFailed || r.State == stateKilled
}

// show shows a report. problem is the reason why there is no newer report; "" for none.
func (s Screen) show(problem string, report *Report) {
	now := time.Now()
	if s.Size == nil {
		line := problem
		if line == "" {
			line = now.Format(time.TimeOnly) + "  " + report.line(now)
		}
		fmt.Fprintln(s.Out, line)
		return
	}
	columns, rows := s.Size()
	var page bytes.Buffer
	page.WriteString(toTop)
	for i, line := range report.page(now, problem) {
		if i == rows-1 {
			break
		}
		line = truncate(line, columns)
		if i == 0 { // line with the state
			line = s.paintState(line)
		}
		page.WriteString(line + clearLine + "\r\n")
	}
	page.WriteString(clearBelow)
	_, _ = s.Out.Write(page.Bytes()) // if the terminal was closed, a signal ends the process
}

func truncate(line string, columns int) string {
	if columns <= 0 || utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns])
}

func (s Screen) paintState(line string) string {
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

func (r *Report) line(now time.Time) string {
	words := r.State
	if r.hasEnded() {
		words += "  " + r.FinalStatus
	}
	if elapsed := r.elapsed(now); elapsed > 0 {
		words += columnGap + Seconds(elapsed)
	}
	if p := r.Progress; p != nil {
		words += columnGap + p.executors() + columnGap + p.tasks()
	}
	return words
}

// elapsed returns the time from the submission until the application's end, or until now if the
// application is running.
func (r *Report) elapsed(now time.Time) time.Duration {
	if r.Times.Submitted.IsZero() {
		return 0
	}
	if !r.Times.Finished.IsZero() {
		now = r.Times.Finished
	}
	return now.Sub(r.Times.Submitted)
}

// page returns the lines of a full-screen report: a header, task sets and executors.
func (r *Report) page(now time.Time, problem string) []string {
	lines := []string{
		fmt.Sprintf("%s  %s  %s  %s", now.Format(time.TimeOnly), r.ApplicationID, r.Name, r.line(now)),
		fmt.Sprintf("user %s, queue %s  %s", r.User, r.Queue, r.TrackingURL),
	}
	if problem != "" {
		lines = append(lines, problem)
	}
	p := r.Progress
	if p == nil {
		if reason := oneLine(withoutSummary(r.Diagnostics)); reason != "" {
			lines = append(lines, reason)
		}
		return lines
	}
	lines = append(lines, "executors "+p.Executors.text())
	if why := p.Executors.whyNone(); why != "" {
		lines = append(lines, "waiting for executors: "+why)
	}
	lines = append(lines, p.Notes...)
	if len(p.TaskSets) > 0 {
		lines = append(lines, "")
		lines = append(lines, taskSetLines(p.TaskSets)...)
	}
	if len(p.Slowest) > 0 {
		lines = append(lines, "", "SLOWEST")
		lines = append(lines, slowLines(p.Slowest)...)
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

// barWidth is the width in characters of the progress bar of a task set.
const barWidth = 30

// maxEndedSets is the maximum number of ended task sets on a page.
const maxEndedSets = 8

// taskSetLines returns a table of task sets, the newest first. It contains all unfinished task
// sets, and the latest maxEndedSets of the ended ones.
func taskSetLines(sets []TaskSet) []string {
	cells := [][]string{{"TASK SET", "STATE", "", "DONE", "RUNNING", "FAILED", ""}}
	ended := 0
	for _, set := range slices.Backward(sets) {
		if set.hasEnded() {
			if ended++; ended > maxEndedSets {
				continue
			}
		}
		waits := set.WaitReason
		if waits != "" {
			waits = "waits: " + waits
		}
		cells = append(cells, []string{
			set.title(), set.State, strings.ReplaceAll(bar(set.Done, set.Total, barWidth), " ", "."), fmt.Sprintf("%d/%d", set.Done, set.Total),
			fmt.Sprint(set.Running), fmt.Sprint(set.Failed), waits,
		})
	}
	return columns(cells)
}

// title returns the name of the task set. If the job has several stages, title adds the stage.
func (s *TaskSet) title() string {
	if s.Stage == nil {
		return s.Name
	}
	return fmt.Sprintf("%s, stage %d of %d: %s", s.Stage.Name, s.Stage.Number, s.Stage.Of, s.Name)
}

// executorLines returns a table of the executors. Lost executors come last.
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
