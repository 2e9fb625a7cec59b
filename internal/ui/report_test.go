package ui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/bobbin-yarn/bobbin/internal/events"
)

// reportOf returns a report as parsed HTML and as text. It checks that the report loads no
// files and contains no script.
func reportOf(t *testing.T, s *events.Snapshot) (document *html.Node, shown string) {
	t.Helper()
	report, err := Report(s, later)
	require.NoError(t, err)
	require.LessOrEqual(t, len(report), maxReport)
	require.True(t, utf8.Valid(report))
	require.True(t, bytes.HasSuffix(report, []byte("</html>\n")))
	document, err = html.Parse(bytes.NewReader(report))
	require.NoError(t, err)
	ids := map[string]bool{}
	for n := range document.Descendants() {
		if id := attribute(n, "id"); id != "" {
			require.False(t, ids[id], "two elements have the id %s", id)
			ids[id] = true
		}
	}
	styles := 0
	for n := range document.Descendants() {
		require.NotEqual(t, html.CommentNode, n.Type)
		switch n.Data {
		case "style":
			styles++
		case "script", "img", "link", "iframe", "form", "object", "embed", "base", "button", "canvas":
			if n.Type == html.ElementNode {
				t.Errorf("the report has an element %s", n.Data)
			}
		}
		for _, a := range n.Attr {
			require.False(t, strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src", "%s=%q", a.Key, a.Val)
			switch {
			case a.Key != "href":
			case strings.HasPrefix(a.Val, "#"):
				require.True(t, ids[a.Val[1:]], "the report links to %s", a.Val)
			default:
				require.True(t, strings.HasPrefix(a.Val, "http://node1.example:8042/"), a.Val)
			}
		}
	}
	require.Equal(t, 1, styles)
	return document, textOf(document)
}

func TestReport(t *testing.T) {
	_, shown := reportOf(t, snapshotOf(busy(plain)))
	for _, text := range []string{
		"nightly counts", "Last jobs", "load words", "the slowest task took 25.0 s", "words 123", "cannot open part-0", "/src/main.go:12", "task 3 failed 4 times",
		"killed by YARN: beyond its memory", "executor.memory", "Stage 4: reduce", "no executor has 8 cores", "Task set submitted",
	} {
		require.Contains(t, shown, text)
	}
	require.NotContains(t, shown, "All attempts", "a link to a page that is not there")
}

func TestReportOfNothing(t *testing.T) {
	_, shown := reportOf(t, snapshotOf())
	require.Contains(t, shown, "No job has ended.")
}

func TestReportWithHostileNames(t *testing.T) {
	for _, text := range hostile {
		_, shown := reportOf(t, snapshotOf(busy(func(name string) string { return text + name })))
		for _, hidden := range []string{"\u202e", "\x1b", "\x00"} {
			require.NotContains(t, shown, hidden)
		}
	}
}

// TestReportsHaveALimit uses an application whose pages have many megabytes.
func TestReportsHaveALimit(t *testing.T) {
	long := strings.Repeat("<&>", 10_000)
	b := &events.Batch{}
	for job := range uint64(200) {
		id := 1000 + job
		b.Events = append(b.Events,
			&events.JobSubmitted{Time: at(1), Job: id, Name: fmt.Sprint("job ", id, " ", long), Description: long, Stages: []events.StagePlan{{Stage: 5000 + id, Name: long}}},
			&events.TaskSetSubmitted{Time: at(1), Set: 9000 + id, Job: id, Stage: 5000 + id, Name: long, Tasks: 100},
			&events.AttemptFailed{Time: at(2), Set: 9000 + id, Executor: 1, Message: fmt.Sprint(long, job), Stack: long},
			&events.TaskSetEnded{Time: at(3), Set: 9000 + id, State: events.StateFailed, Error: long, Counters: map[string]int64{long: 1}},
			&events.JobEnded{Time: at(3), Job: id, State: events.StateFailed, Error: long},
		)
		b.Attempts = append(b.Attempts, events.Attempt{Set: 9000 + id, Executor: 1, Outcome: events.OutcomeFailed, Start: micros64(1), End: micros64(2)})
	}
	_, shown := reportOf(t, snapshotOf(b))
	require.Contains(t, shown, "Left out: a report has at most 1 MiB.")
}
