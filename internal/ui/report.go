package ui

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

const (
	// maxReport limits the size of a report in bytes, because CI systems may reject larger
	// files, and browsers may be slow to show them.
	maxReport = 1 << 20
	// reportReserve is the number of bytes of maxReport that are reserved for the text after
	// the last part: the notes about omitted parts, and the end of the file.
	reportReserve = 128 << 10
	// reportJobs and reportSets limit the numbers of jobs and of stages in a report.
	reportJobs = 20
	reportSets = 60
	// These constants limit the numbers of characters: maxTitle of a title, maxCellText of a
	// fact's or table's cell, and maxTextBlock of a note or a stack.
	maxTitle     = 200
	maxCellText  = 1000
	maxTextBlock = 8000
)

// reportPart is one page of the application's web UI as a part of a report.
type reportPart struct {
	ID      string // unique in the report
	show    func(view) (content, bool)
	ids     url.Values // the query of the page; nil if the page has no parameters
	Content content
}

// Report returns the pages of an application as one HTML file of at most 1 MiB. The file
// contains no script and loads no other files. Its style sheet is inline, which the server of
// the file may forbid. Without the style sheet, the report remains readable, because HTML
// attributes format the tables and drawings.
func Report(s *events.Snapshot, now time.Time) ([]byte, error) {
	v := view{Snapshot: s, now: now}
	parts := reportParts(v)
	anchors := reportAnchors(v, parts)
	l := layout{AsOf: moment(now)}
	v.describe(&l)
	var b bytes.Buffer
	sum := sha256.Sum256([]byte(reportStyle))
	err := pages.ExecuteTemplate(&b, "report-begin", struct {
		layout
		Policy string
		Style  template.HTML
	}{l, "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'", template.HTML("<style>" + reportStyle + "</style>")})
	for _, part := range parts {
		if err != nil {
			return nil, err
		}
		var found bool
		if v.query = (query{part.ids}); part.show != nil {
			part.Content, found = part.show(v)
		}
		if !found {
			continue
		}
		part.detach(anchors)
		before := b.Len()
		err = pages.ExecuteTemplate(&b, "report-part", part)
		if b.Len() > maxReport-reportReserve {
			b.Truncate(before)
			part.Content = content{Title: part.Content.Title, Sections: []section{{Notes: []note{{Level: "Left out:", Cells: []cell{text("a report has at most 1 MiB.")}}}}}}
			err = pages.ExecuteTemplate(&b, "report-part", part)
		}
	}
	if err == nil {
		err = pages.ExecuteTemplate(&b, "report-end", l)
	}
	return b.Bytes(), err
}

// reportParts returns the parts of a report in the order of their importance, because Report
// omits the last parts if they do not fit.
func reportParts(v view) []reportPart {
	parts := []reportPart{{ID: overviewPage, show: contents[overviewPage]}}
	if len(v.Failures) > 0 {
		parts = append(parts, reportPart{ID: "errors", show: always(failureTexts)})
	}
	for _, page := range []string{stepsPage, jobsPage, executorsPage, storagePage, settingsPage, eventsPage} {
		if (page != stepsPage || v.hasSteps()) && (page != storagePage || len(v.Cached) > 0) {
			parts = append(parts, reportPart{ID: page, show: contents[page]})
		}
	}
	sets := 0
	for _, j := range v.mostImportant() {
		parts = append(parts, reportPart{ID: "job-" + formatID(j.Job), show: contents[jobPage], ids: url.Values{"page": {jobPage}, "id": {formatID(j.Job)}}})
		if len(j.Stages) == 0 && len(j.Sets) == 1 {
			continue // the job's page includes the page of its only task set
		}
		for _, set := range j.Sets {
			if sets++; sets <= reportSets {
				parts = append(parts, reportPart{ID: "set-" + formatID(set.Set), show: contents[stagePage], ids: url.Values{"page": {stagePage}, "id": {formatID(set.Set)}}})
			}
		}
	}
	return parts
}

// mostImportant returns at most reportJobs jobs: first the failed jobs and the jobs with failed or
// lost attempts, then the others. In both groups, jobs with more time in tasks come first.
func (v view) mostImportant() []*events.Job {
	all := slices.Clone(v.Jobs)
	rank := func(j *events.Job) int {
		if j.State == events.StateFailed || j.Counts.FailedAttempts+j.Counts.LostAttempts > 0 {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *events.Job) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Counts.Sums.Took, a.Counts.Sums.Took))
	})
	return all[:min(len(all), reportJobs)]
}

// reportAnchors maps each link between pages to the corresponding link within a report.
func reportAnchors(v view, parts []reportPart) map[string]string {
	anchors := map[string]string{}
	for _, part := range parts {
		link := to(part.ID)
		if part.ids != nil {
			link = query{part.ids}.with()
		}
		anchors[link] = "#" + part.ID
	}
	for _, j := range v.mostImportant() {
		for _, set := range j.Sets {
			if link := to(stagePage, "id", formatID(set.Set)); anchors[link] == "" {
				anchors[link] = "#job-" + formatID(j.Job)
			}
		}
	}
	for _, e := range v.Executors {
		anchors[to(executorPage, "id", e.ID)] = "#" + executorsPage
	}
	return anchors
}

// detach makes a part independent of the web server of the pages. It replaces links to pages by
// links to parts of the report, and removes links to pages that the report does not contain. It
// also shortens long texts.
func (p *reportPart) detach(anchors map[string]string) {
	change := func(cells []cell, most int) []cell {
		changed := slices.Clone(cells)
		for i := range changed {
			c := &changed[i]
			c.Text, c.Hint = shorten(c.Text, most), shorten(c.Hint, most)
			switch {
			case c.Outside:
			case strings.HasPrefix(c.Link, "#"):
				c.Link = "#" + p.ID + "-" + c.Link[1:]
			default:
				c.Link = anchors[c.Link]
			}
		}
		return changed
	}
	p.Content.Title = shorten(p.Content.Title, maxTitle)
	for i := range p.Content.Sections {
		s := &p.Content.Sections[i]
		s.ID = p.ID + "-" + s.ID
		s.Text = shorten(s.Text, maxTextBlock)
		for j := range s.Notes {
			s.Notes[j].Cells = change(s.Notes[j].Cells, maxTextBlock)
		}
		s.Facts = slices.DeleteFunc(s.Facts, func(f fact) bool { // remove a fact that consists only of a link to a page that the report does not contain
			return len(f.Cells) == 1 && f.Cells[0].Link != "" && !f.Cells[0].Outside && anchors[f.Cells[0].Link] == ""
		})
		for j := range s.Facts {
			s.Facts[j].Cells = change(s.Facts[j].Cells, maxCellText)
		}
		if s.Table == nil {
			continue
		}
		for _, row := range s.Table.Rows {
			for j := range row.Cells {
				row.Cells[j].Cells = change(row.Cells[j].Cells, maxCellText)
			}
		}
	}
}

// shorten returns s, cut after the given number of characters. It appends " …" if it has cut s.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most]) + " …"
}

// failureTexts shows the complete message and the stack of one failure from each of the largest
// groups of failures.
func failureTexts(v view) content {
	groups := slices.Clone(v.Failures)
	slices.SortStableFunc(groups, func(a, b *events.FailureGroup) int { return b.Count - a.Count })
	c := content{Title: "Errors"}
	for i, group := range groups[:min(len(groups), mostShown)] {
		failed := group.Samples[0]
		where := ""
		if e := v.Executor(failed.Executor); e != nil {
			where = " on executor " + e.ID + " (" + e.Host + ")"
		}
		c.Sections = append(c.Sections, section{
			ID: formatID(i), Title: visible(fmt.Sprintf("%s, such as task %d of set %d%s", plural(group.Count, "attempt"), failed.Task, failed.Set, where)),
			Text: visible(strings.TrimSpace(failed.Message + "\n\n" + failed.Stack)),
		})
	}
	return c
}
